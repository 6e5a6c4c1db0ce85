// Package process starts collectors as a person would, as processes of their own, and ends them.
package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/procstat"
)

const (
	startTimeout = 20 * time.Second // a collector is up in 0.3 s; other work on the machine delays it
	stopTimeout  = 10 * time.Second // then it is killed
	startTries   = 3                // a port that was free may be taken before the collector binds it
)

// Collector is a running collector and, where its contender needs one, its backend.
type Collector struct {
	// Endpoint takes OTLP over gRPC.
	Endpoint string

	backend *Collector
	outage  net.Listener
	metrics string
	cmd     *exec.Cmd
	stderr  *tail
	exited  chan struct{}
}

// Files says where the program and the configs are.
type Files struct {
	Binary  string // the collector
	Configs string // the folder of the contenders' configs
}

// Start starts the contender with data as its folder and returns when it takes requests. The
// collectors end when ctx ends, or with Stop.
func Start(ctx context.Context, files Files, c contender.Contender, data string) (*Collector, error) {
	env := map[string]string{"BENCH_DATA": data}
	maps.Copy(env, c.Env)
	var backend *Collector
	if c.Backend {
		var err error
		if backend, err = startOne(ctx, files, "nop.yaml", nil); err != nil {
			return nil, fmt.Errorf("backend of %s: %w", c.Name, err)
		}
		env["BENCH_BACKEND"] = backend.Endpoint
	}
	var outage net.Listener
	if c.Outage != "" {
		var err error
		if env["BENCH_BACKEND"], outage, err = breakDown(c.Outage); err != nil {
			return nil, fmt.Errorf("backend of %s: %w", c.Name, err)
		}
	}
	collector, err := startOne(ctx, files, c.Config, env)
	if err != nil {
		if backend != nil {
			err = errors.Join(err, backend.Stop())
		}
		return nil, fmt.Errorf("contender %s: %w", c.Name, err)
	}
	collector.backend, collector.outage = backend, outage
	return collector, nil
}

func startOne(ctx context.Context, files Files, config string, env map[string]string) (*Collector, error) {
	for try := 1; ; try++ {
		c, err := launch(ctx, files, config, env)
		if err == nil {
			return c, nil
		}
		if try == startTries || ctx.Err() != nil {
			return nil, err
		}
	}
}

func launch(ctx context.Context, files Files, config string, env map[string]string) (*Collector, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		Endpoint: "127.0.0.1:" + strconv.Itoa(ports[0]),
		metrics:  "http://127.0.0.1:" + strconv.Itoa(ports[1]) + "/metrics",
		stderr:   &tail{},
		exited:   make(chan struct{}),
	}
	c.cmd = exec.CommandContext(ctx, files.Binary,
		"--config", filepath.Join(files.Configs, "common.yaml"), "--config", filepath.Join(files.Configs, config))
	// Nothing of the caller's environment: GOGC, GOMAXPROCS or OTEL_ variables would change the figures.
	c.cmd.Env = []string{"BENCH_OTLP=" + c.Endpoint, "BENCH_METRICS_PORT=" + strconv.Itoa(ports[1])}
	for k, v := range env {
		c.cmd.Env = append(c.cmd.Env, k+"="+v)
	}
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = ownGroup()
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = stopTimeout
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w: build it with `make build`", files.Binary, err)
	}
	go func() {
		_ = c.cmd.Wait() // ended by a signal: always an error
		close(c.exited)
	}()
	if err := c.waitUntilUp(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Collector) waitUntilUp(ctx context.Context) error {
	dialer := net.Dialer{Timeout: time.Second}
	for deadline := time.Now().Add(startTimeout); ; {
		conn, err := dialer.DialContext(ctx, "tcp", c.Endpoint)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.exited:
			return fmt.Errorf("the collector ended at its start: %s", c.stderr)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the collector took no connection within %s: %s", startTimeout, c.stderr)
		}
	}
}

// Stop ends the collector and its backend, with SIGKILL where SIGTERM does not end them in 10 s, and
// waits until they are gone.
func (c *Collector) Stop() error {
	err := c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.exited:
		err = nil
	case <-time.After(stopTimeout):
		err = errors.Join(err, c.cmd.Process.Kill())
		<-c.exited
	}
	if c.backend != nil {
		err = errors.Join(err, c.backend.Stop())
	}
	if c.outage != nil {
		err = errors.Join(err, c.outage.Close())
	}
	return err
}

// CPU returns the CPU time that the collector has used, without its backend's.
func (c *Collector) CPU() (time.Duration, error) {
	return procstat.CPU(c.cmd.Process.Pid)
}

// PeakMemory returns the most memory in bytes that the collector has held, without its backend's.
func (c *Collector) PeakMemory() (uint64, error) {
	return procstat.PeakMemory(c.cmd.Process.Pid)
}

// freePorts returns n different loopback ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // at the end, so that no port comes twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
