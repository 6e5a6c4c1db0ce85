package producer

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"time"
)

const (
	viewerName   = "runspan"
	viewerPort   = 18318
	viewerWithin = 5 * time.Second
)

// viewer is `runspan view` as a child.
type viewer struct {
	*child
	url string
}

// startViewer starts the viewer of a run and returns when its port takes connections.
func startViewer(ctx context.Context, s *settings, file string) (*viewer, error) {
	binary, err := program("Viewer.Binary", s.Viewer.Binary, viewerName)
	if err != nil {
		return nil, err
	}
	host := s.Viewer.Host
	if host == "" {
		host = "127.0.0.1"
	}
	port := s.Viewer.Port
	if port == 0 {
		port = viewerPort
		if freeAt(port, host) != nil {
			if port, err = freePort(reachable{listen: host}, 0); err != nil {
				return nil, err
			}
		}
	} else if err := freeAt(port, host); err != nil {
		return nil, fmt.Errorf("producer: Viewer.Port: %w: take another, or 0 for a free one", err)
	}
	// All services of the run are shown: the drivers, its actors, its engines.
	args := []string{"view", "--trace-jsonl", file, "--run-id", s.RunID, "--host", host, "--port", strconv.Itoa(port)}
	if s.Viewer.JaegerQueryURL != "" {
		args = append(args, "--jaeger-query-url", s.Viewer.JaegerQueryURL)
	}
	v := &viewer{url: "http://" + net.JoinHostPort(dialable(host), strconv.Itoa(port))}
	cmd := exec.Command(binary, args...) //nolint:gosec // G204: the viewer that the user installed or named
	if v.child, err = startChild("the viewer "+binary, cmd, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, viewerWithin)
	defer cancel()
	for {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(dialable(host), strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			return v, nil
		}
		select {
		case <-v.done:
			return nil, fmt.Errorf("producer: %s did not start: %s", v.name, v.how())
		case <-ctx.Done():
			_ = v.stop(viewerStopWithin)
			return nil, fmt.Errorf("producer: %s was not ready within %s: %w%s", v.name, viewerWithin, err, v.logEnd())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// dialable is where a server that listens on all addresses can be asked from this host.
func dialable(host string) string {
	switch host {
	case "", "0.0.0.0", "::":
		return "127.0.0.1"
	}
	return host
}
