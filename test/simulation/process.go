package simulation

import (
	"fmt"
	"time"
)

// The services of a run.
const (
	ServiceTrainer = "xtuner-trainer"
	ServiceRollout = "xtuner-rollout"
	ServiceAgent   = "swe-agent"
	ServiceJudger  = "judger"
	ServiceEngine  = "vllm"
)

// clockBehind is by how much the clock of the second worker's node is behind those of the others.
const clockBehind = 1200 * time.Millisecond

// Process is one process of a run, with a connection of its own to the collector.
type Process struct {
	// Service is its service.name.
	Service string
	// Host is the value of NamedBy, the attribute of its resource that says where it runs.
	Host, NamedBy string
	// PID is its process.pid; 0 where it does not say it.
	PID int64
	// KnowsRun says whether its resource has the run.id.
	KnowsRun bool
	// HTTP says that it sends OTLP over HTTP; otherwise over gRPC.
	HTTP bool
	// Clock is by how much its clock is ahead.
	Clock time.Duration

	scope   string
	flush   time.Duration // between two requests
	sdk     [2]string     // language and version
	killed  time.Duration // when it was killed, with what it had not sent by then; 0 for never
	resends bool          // sends spans again among new ones
	xtuner  bool          // puts XTuner's attributes on its spans
}

// cast are the processes of a run by their parts in it.
type cast struct {
	driver, controller, agent, judger *Process
	ranks                             []*Process
	workers, engines                  []*Process
}

var (
	pythonSDK = [2]string{"python", "1.38.0"}
	goSDK     = [2]string{"go", "1.46.0"}
)

// newCast makes the processes of a run. Each kind says in another way where it runs, as those of
// different teams do.
func (s *sim) newCast() {
	pid := func() int64 { return 100 + s.rng.Int64N(9000) }
	const xtunerScope = "xtuner.v1.rl.trace"
	s.driver = s.process(Process{
		Service: ServiceTrainer, Host: "trainer-0", NamedBy: "k8s.pod.name", PID: pid(), KnowsRun: true,
		scope: xtunerScope, flush: 700 * time.Millisecond, sdk: pythonSDK, xtuner: true,
	})
	for i := range 2 {
		s.ranks = append(s.ranks, s.process(Process{
			Service: ServiceTrainer, Host: fmt.Sprintf("trainer-%d", i), NamedBy: "k8s.pod.name", PID: pid(), KnowsRun: true,
			scope: xtunerScope, flush: time.Second, sdk: pythonSDK, xtuner: true,
		}))
	}
	s.controller = s.process(Process{
		Service: ServiceRollout, Host: "rollout-controller-0", NamedBy: "k8s.pod.name", PID: pid(), KnowsRun: true,
		scope: xtunerScope, flush: 500 * time.Millisecond, sdk: pythonSDK, xtuner: true,
	})
	for i := range s.set.Workers {
		clock := time.Duration(0)
		if i == 1 {
			clock = -clockBehind
		}
		s.workers = append(s.workers, s.process(Process{
			Service: ServiceRollout, Host: fmt.Sprintf("rollout-worker-%d", i), NamedBy: "k8s.pod.name", PID: pid(), KnowsRun: true,
			Clock: clock, scope: xtunerScope, flush: time.Second, sdk: pythonSDK, xtuner: true,
		}))
		s.engines = append(s.engines, s.process(Process{
			Service: ServiceEngine, Host: fmt.Sprintf("engine-%d", i), NamedBy: "service.instance.id", Clock: clock, HTTP: true,
			scope: "vllm.llm_engine", flush: 1500 * time.Millisecond, sdk: pythonSDK,
		}))
	}
	s.agent = s.process(Process{
		Service: ServiceAgent, Host: "agents.example", NamedBy: "host.name", PID: pid(), KnowsRun: true, HTTP: true,
		scope: "swe-agent/tracing", flush: 400 * time.Millisecond, sdk: goSDK, xtuner: true,
	})
	s.judger = s.process(Process{
		Service: ServiceJudger, Host: "judger-0", NamedBy: "k8s.pod.name", KnowsRun: true,
		scope: xtunerScope, flush: 600 * time.Millisecond, sdk: pythonSDK, resends: true, xtuner: true,
	})
}

func (s *sim) process(p Process) *Process {
	s.processes = append(s.processes, &p)
	return &p
}

// resource returns the attributes of the process in the run of that id.
func (p *Process) resource(run string) []attribute {
	attrs := []attribute{
		{"telemetry.sdk.language", p.sdk[0]},
		{"telemetry.sdk.name", "opentelemetry"},
		{"telemetry.sdk.version", p.sdk[1]},
		{"service.name", p.Service},
		{p.NamedBy, p.Host},
	}
	if p.PID != 0 {
		attrs = append(attrs, attribute{"process.pid", p.PID})
	}
	if p.KnowsRun {
		attrs = append(attrs, attribute{"run.id", run})
	}
	return attrs
}
