package viewer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// The limits of connections: whoever sends or reads slowly, or only holds a connection, is cut.
const (
	ReadHeaderTimeout = 10 * time.Second
	ReadTimeout       = 20 * time.Second
	WriteTimeout      = 60 * time.Second
	IdleTimeout       = 90 * time.Second
	MaxHeaderBytes    = 64 << 10
	MaxConnections    = 256

	// stopPatience is how long requests on their way may take when the server stops.
	stopPatience = 2 * time.Second
)

// Serve answers on a listener until ctx ends, and closes it.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return serveOn(ctx, listener, newServer(handler))
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
	}
}

func serveOn(ctx context.Context, listener net.Listener, server *http.Server) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(listener, MaxConnections)) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	Stop(server) //nolint:contextcheck // the one that ended is of no use
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Stop ends a server within a bounded time.
func Stop(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // those that are left are cut
	}
}
