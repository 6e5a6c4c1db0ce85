package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Run is a simulated run: everything that its processes send.
type Run struct {
	// ID is the run.id, made as XTuner makes it: local time, process id, eight hexadecimal digits.
	ID string
	// Start is when the run begins.
	Start time.Time
	// Processes of the run.
	Processes []*Process
	// Requests in the order in which they are sent.
	Requests []Request

	set   Settings
	spans []*span // those that are sent, once each, in the order of their ends
}

// New makes a run.
func New(set Settings) (*Run, error) {
	set = set.withDefaults()
	if err := set.check(); err != nil {
		return nil, err
	}
	s := &sim{set: set, rng: rand.New(rand.NewPCG(set.Seed, 0))}
	run := &Run{
		ID: fmt.Sprintf("%s-%d-%08x", set.Start.Format("20060102-150405"),
			1000+s.rng.Int64N(60000), s.rng.Uint32()),
		Start: set.Start,
		set:   set,
	}
	s.newCast()
	s.pool = newPool(s)
	s.warmUp()
	s.step(0, nil)
	s.run()
	run.Processes = s.processes
	run.pack(s)
	return run, nil
}

// sim is a run on its way.
type sim struct {
	loop
	cast
	set       Settings
	rng       *rand.Rand
	processes []*Process
	pool      *pool
	spans     []*span // in the order of their ends
	rollouts  int     // how many there were
}

// warmUp has each engine answer a request of its own, which is of no run.
func (s *sim) warmUp() {
	for _, engine := range s.engines {
		s.after(s.between(100*time.Millisecond, 900*time.Millisecond), func() {
			sp := s.begin(engine, nil, "llm_request", s.engineAttributes(16)...)
			s.after(s.between(200*time.Millisecond, 400*time.Millisecond), func() { s.end(sp) })
		})
	}
}

// step begins a training step: its rollouts, and those that the last step left over. When all are
// over the trainer trains, and the next step begins.
func (s *sim) step(number int, left []*rollout) {
	st := &step{sim: s, number: number}
	rollouts := left
	for group := range s.set.Groups {
		of := number*s.set.Groups + group
		task := &tasks[of%len(tasks)]
		prompt := pick(s, task.prompts)
		for range s.set.Siblings {
			rollouts = append(rollouts, &rollout{id: s.rollouts, group: of, task: task, prompt: prompt})
			s.rollouts++
		}
	}
	st.open = len(rollouts)
	if s.set.DriverKilled && number == s.set.Steps-1 {
		st.fatal = len(rollouts) / 2
	}
	for _, r := range rollouts {
		r.step, r.attempt = st, r.attempt+1
		s.after(s.between(5*time.Millisecond, 400*time.Millisecond), r.begin)
	}
	if number == 1 {
		s.after(s.between(3*time.Second, 6*time.Second), func() { s.pool.kill(s.set.Workers - 1) })
	}
}

// step is a training step.
type step struct {
	*sim
	number  int
	open    int        // rollouts that are not over
	fatal   int        // the driver is killed when so many are open; 0 for never
	left    []*rollout // aborted: for the next step
	rewards []float64
}

// over counts a rollout that is over.
func (st *step) over() {
	st.open--
	if st.fatal > 0 && st.open == st.fatal {
		st.driver.killed = st.now
		// The others send what they have; nothing new begins.
		st.after(0, st.halt)
		return
	}
	if st.open == 0 {
		st.after(st.between(20*time.Millisecond, 60*time.Millisecond), st.train)
	}
}
