package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	// readyWithin is how long the collector may take to start; it needs a second.
	readyWithin = 30 * time.Second
	// endWithin is how long it may take to end before it is killed. It reads its file to the end
	// first, for at most 10 s.
	endWithin = 15 * time.Second
)

// addresses are those of configs/local.yaml.
type addresses struct{ grpc, http, viewer, health, metrics string }

// settings names the addresses by what listens there and by the variable that moves it.
func (a *addresses) settings() []struct{ what, variable, address string } {
	return []struct{ what, variable, address string }{
		{"OTLP over gRPC", "RUNSPAN_OTLP_GRPC", a.grpc},
		{"OTLP over HTTP", "RUNSPAN_OTLP_HTTP", a.http},
		{"the page", "RUNSPAN_VIEWER", a.viewer},
		{"the health check", "RUNSPAN_HEALTH", a.health},
		{"the metrics", "RUNSPAN_METRICS", a.metrics},
	}
}

func addressesOf(env func(string) string) *addresses {
	or := func(variable, address string) string {
		if value := env(variable); value != "" {
			return value
		}
		return address
	}
	return &addresses{
		grpc:    or("RUNSPAN_OTLP_GRPC", "127.0.0.1:4317"),
		http:    or("RUNSPAN_OTLP_HTTP", "127.0.0.1:4318"),
		viewer:  or("RUNSPAN_VIEWER", "127.0.0.1:18318"),
		health:  or("RUNSPAN_HEALTH", "127.0.0.1:13133"),
		metrics: or("RUNSPAN_METRICS", "127.0.0.1:8888"),
	}
}

// check says which of the addresses are taken: the collector would name the first one only, in the
// middle of its log.
func (a *addresses) check(ctx context.Context) error {
	var all []error
	for _, s := range a.settings() {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
		switch {
		case err == nil:
			all = append(all, l.Close())
		case errors.Is(err, syscall.EADDRINUSE):
			all = append(all, fmt.Errorf("%s, for %s, is taken: end what listens there (another `make demo` or `make run`?), "+
				"or set %s to another address", s.address, s.what, s.variable))
		default:
			all = append(all, fmt.Errorf("%s=%s, for %s: %w", s.variable, s.address, s.what, err))
		}
	}
	return errors.Join(all...)
}

// collector is the running collector.
type collector struct {
	cmd   *exec.Cmd
	log   string        // the file with its output
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; valid after ended
}

func startCollector(o options, log string) (*collector, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c := &collector{cmd: exec.Command(o.collector, "--config", o.config), log: log, ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "RUNSPAN_DATA="+o.data)
	c.cmd.Stdout, c.cmd.Stderr = file, file
	// A group of its own: Ctrl-C goes to the demo alone, which ends the clients first.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the collector: %w (`make build` makes it)", err)
	}
	go func() {
		defer close(c.ended)
		c.err = c.cmd.Wait()
	}()
	return c, nil
}

// awaitReady waits until the collector serves.
func (c *collector) awaitReady(ctx context.Context, health string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-c.ended:
			return c.failed("it ended")
		case <-ctx.Done():
			return c.failed(fmt.Sprintf("it does not serve after %s", readyWithin))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// failed is an error with the end of the collector's log.
func (c *collector) failed(what string) error {
	const most = 2000
	text, err := os.ReadFile(c.log)
	if err != nil {
		text = []byte(err.Error())
	}
	return fmt.Errorf("the collector: %s. The end of %s:\n%s", what, c.log, bytes.TrimSpace(text[max(0, len(text)-most):]))
}

// stop ends the collector: it is asked to, and killed when it does not or when the user asks again.
func (c *collector) stop() error {
	select {
	case <-c.ended:
		return nil // somebody else has told why
	default:
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, endSignals...)
	defer signal.Stop(again)
	fmt.Printf("\nThe collector ends. It may take %s, for what Jaeger has not got yet: Ctrl-C again kills it.\n", endWithin)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-again:
		c.kill()
		return nil
	case <-time.After(endWithin):
		c.kill()
		return c.failed(fmt.Sprintf("it did not end within %s and was killed", endWithin))
	}
	if c.err != nil {
		return c.failed(c.err.Error())
	}
	return nil
}

func (c *collector) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}
