package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/runid"
)

const (
	collectorName = "otelcol-runspan"

	// collectorWithin is how long the collector may take until it takes spans: well under a second,
	// unless the machine is busy.
	collectorWithin = 15 * time.Second

	// portTries is how often other free ports are tried when somebody was faster.
	portTries = 5
)

// collector is the local one.
type collector struct {
	*child
	file        string
	own, others endpoint // for this process, and for its children
}

// startCollector starts the local collector and returns when it takes spans.
func startCollector(ctx context.Context, s *settings, at reachable, log *slog.Logger) (*collector, error) {
	binary, err := program("Local.Binary", s.Local.Binary, collectorName)
	if err != nil {
		return nil, err
	}
	file, err := s.localFile()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, collectorWithin, fmt.Errorf("%s are over", collectorWithin))
	defer cancel()
	for try := 1; ; try++ {
		c := &collector{file: file}
		ports, err := s.localPorts(at)
		if err != nil {
			return nil, err
		}
		c.own, c.others = s.localEndpoint("127.0.0.1", ports), s.localEndpoint(at.host, ports)
		config, err := collectorConfig(s.RunID, file, at, ports)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(binary, "--config", "yaml:"+config) //nolint:gosec // G204: the collector that the user installed or named
		cmd.Env = withoutOTel(os.Environ())
		ready := make(chan struct{})
		if c.child, err = startChild("the local collector "+binary, cmd, collectorLog(log, ready)); err != nil {
			return nil, err
		}
		select {
		case <-ready:
			return c, nil
		case <-c.done:
			taken := strings.Contains(c.log.String(), "address already in use")
			if taken && try < portTries && (s.Local.GRPCPort == 0 || s.Local.HTTPPort == 0) {
				continue
			}
			return nil, fmt.Errorf("producer: %s did not start: %s", c.name, c.how())
		case <-ctx.Done():
			err := errors.Join(context.Cause(ctx), c.stop(stopWithin))
			return nil, fmt.Errorf("producer: %s was not ready in time: %w%s", c.name, err, c.logEnd())
		}
	}
}

// localFile is <output_dir>/<run_id>/traces/traces.jsonl.
func (s *settings) localFile() (string, error) {
	dir := s.Local.OutputDir
	if dir == "" {
		dir = "data"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", settingError("Local.OutputDir", "%v", err)
	}
	if strings.ContainsAny(dir, "{}") {
		return "", settingError("Local.OutputDir", "%q holds { or }, which the collector takes for a placeholder", dir)
	}
	dir = filepath.Join(dir, s.RunID, "traces")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: traces are read by viewers of other users, as the collector's own folders
		return "", fmt.Errorf("producer: Local.OutputDir: %w", err)
	}
	return filepath.Join(dir, "traces.jsonl"), nil
}

// ports of the local collector.
type ports struct{ grpc, http int }

// localPorts takes what is set, and finds free ones for the rest.
func (s *settings) localPorts(at reachable) (ports, error) {
	p := ports{s.Local.GRPCPort, s.Local.HTTPPort}
	var err error
	if p.grpc == 0 {
		if p.grpc, err = freePort(at, p.http); err != nil {
			return p, err
		}
	}
	if p.http == 0 {
		p.http, err = freePort(at, p.grpc)
	}
	return p, err
}

// freePort finds a port on which nobody listens, at loopback and at the address for others. It lies
// below those that the kernel gives to outgoing connections (32768 on Linux): a port that the kernel
// chooses may be taken by one of them before the collector listens.
func freePort(at reachable, not int) (int, error) {
	const first, count, tries = 20000, 12000, 100
	var last error
	for range tries {
		port := first + rand.IntN(count) //nolint:gosec // G404: no secret
		if port == not {
			continue
		}
		if last = freeAt(port, at.addresses()...); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("producer: no free port for the local collector in %d tries: %w: set Local.GRPCPort and Local.HTTPPort", tries, last)
}

func freeAt(port int, hosts ...string) error {
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// addresses are those to listen on; "" is all of them.
func (at reachable) addresses() []string {
	switch {
	case at.all:
		return []string{""}
	case at.listen == "":
		return []string{"127.0.0.1"}
	}
	return []string{"127.0.0.1", at.listen}
}

func (s *settings) localEndpoint(host string, p ports) endpoint {
	e := endpoint{protocol: s.Protocol, url: url.URL{Scheme: "http"}}
	port := p.grpc
	if s.Protocol == ProtocolHTTP {
		port, e.url.Path = p.http, tracesPath
	}
	e.url.Host = net.JoinHostPort(host, strconv.Itoa(port))
	return e
}

// collectorConfig is the config of the local collector, in JSON, which is YAML: no file to write, and
// none to be left over. It has neither a health check nor metrics, which would need ports.
func collectorConfig(run, file string, at reachable, p ports) (string, error) {
	type object = map[string]any
	receivers := object{}
	for i, host := range at.addresses() {
		address := func(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
		receivers["otlp/"+strconv.Itoa(i+1)] = object{"protocols": object{
			// The limits are those of configs/local.yaml.
			"grpc": object{"endpoint": address(p.grpc), "max_recv_msg_size_mib": 8, "include_metadata": true},
			"http": object{"endpoint": address(p.http), "max_request_body_size": 8 << 20, "include_metadata": true},
		}}
	}
	names := make([]string, 0, len(receivers))
	for name := range receivers {
		names = append(names, name)
	}
	config, err := json.Marshal(object{
		"receivers": receivers,
		"processors": object{
			"memory_limiter": object{"check_interval": "500ms", "limit_mib": 2048, "spike_limit_mib": 512},
			// Engines below the children may send without a run: here there is only one.
			"resource": object{"attributes": []object{{"key": runid.AttributeRunID, "value": run, "action": "insert"}}},
			"run_id":   object{},
		},
		// Nobody else has reason to write the file of this run for long.
		"exporters": object{"run_file": object{"path": file, "lock_timeout": "2s"}},
		"service": object{
			"telemetry": object{
				"metrics": object{"level": "none"},
				"logs": object{
					"encoding": "json", "disable_caller": true, "disable_zap_resource": true,
					"sampling": object{"enabled": true, "tick": "1h", "initial": 1, "thereafter": 0},
				},
			},
			"pipelines": object{"traces": object{
				"receivers": names, "processors": []string{"memory_limiter", "resource", "run_id"}, "exporters": []string{"run_file"},
			}},
		},
	})
	// A $ would begin the name of a variable.
	return strings.ReplaceAll(string(config), "$", "$$"), err
}

// collectorLog passes on what a person should know of the collector's log, and closes ready when it
// says that it takes spans.
func collectorLog(log *slog.Logger, ready chan struct{}) func(string) {
	isReady := false
	return func(line string) {
		var entry struct{ Level, Msg, Error string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			return
		}
		switch {
		case strings.HasPrefix(entry.Msg, "Everything is ready.") && !isReady:
			isReady = true
			close(ready)
		case isReady && (entry.Level == "warn" || entry.Level == "error"):
			log.Warn("the local collector says: "+entry.Msg, "error", entry.Error)
		}
	}
}

// withoutOTel leaves out the variables that are meant for the program's own SDK.
func withoutOTel(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "OTEL_") {
			kept = append(kept, kv)
		}
	}
	return kept
}
