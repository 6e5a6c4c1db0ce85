package runviewerextension

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension"
	"go.uber.org/zap"
	"golang.org/x/net/netutil"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/internal/viewer"
)

type viewerExtension struct {
	set    extension.Settings
	config *Config

	catalogue *runindex.Catalogue
	server    *http.Server
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// Start implements component.Component. An address that is taken is an error: a viewer that is not
// there would be found out about in front of the page.
func (e *viewerExtension) Start(ctx context.Context, host component.Host) (err error) {
	server := e.config.ServerConfig // a copy: what is changed stays here
	listener, err := server.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("%w: is another viewer running? endpoint sets the address", err)
	}
	defer func() {
		if err != nil {
			_ = listener.Close()
		}
	}()
	opts, err := e.options(ctx, host)
	if err != nil {
		return err
	}
	warn := func(text string) { e.set.Logger.Warn(text) }
	opts.Warn = warn
	catalogue, err := runindex.Open(runindex.Options{Files: e.config.Files, CacheDir: e.config.Cache, Warn: warn})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = catalogue.Close()
		}
	}()
	opts.Catalogue = catalogue
	handler, err := viewer.New(opts)
	if err != nil {
		return err
	}
	// The API alone asks for a token: see options.
	server.Auth = configoptional.None[confighttp.AuthConfig]()
	httpServer, err := server.ToServer(ctx, host.GetExtensions(), e.set.TelemetrySettings, handler,
		confighttp.WithErrorHandler(handler.ServeError))
	if err != nil {
		return err
	}
	httpServer.MaxHeaderBytes = viewer.MaxHeaderBytes
	e.catalogue, e.server = catalogue, httpServer
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.running.Go(func() { catalogue.Run(running) })
	e.running.Go(func() {
		err := httpServer.Serve(netutil.LimitListener(listener, viewer.MaxConnections))
		if !errors.Is(err, http.ErrServerClosed) {
			// Spans are taken in without it: the collector goes on.
			componentstatus.ReportStatus(host, componentstatus.NewPermanentErrorEvent(err))
		}
	})
	e.set.Logger.Info("the viewer is at http://"+listener.Addr().String(), zap.Strings("files", e.config.Files))
	return nil
}

// options returns the settings of the viewer, but for its catalogue.
func (e *viewerExtension) options(ctx context.Context, host component.Host) (viewer.Options, error) {
	opts := viewer.Options{
		Version: e.set.BuildInfo.Version, MaxMemory: e.config.MaxMemory, MaxTraceSpans: e.config.MaxTraceSpans,
		MaxConcurrent: e.config.MaxConcurrent, RequestTimeout: e.config.RequestTimeout, JaegerURL: e.config.JaegerURL,
		AllowedHosts: e.config.AllowedHosts,
	}
	if name, _, err := net.SplitHostPort(e.config.ServerConfig.NetAddr.Endpoint); err == nil {
		opts.Endpoint = cmp.Or(name, "0.0.0.0") // ":18318" is all addresses
	}
	auth := e.config.ServerConfig.Auth.Get()
	if auth == nil {
		return opts, nil
	}
	server, err := auth.Config.GetServerAuthenticator(ctx, host.GetExtensions())
	if err != nil {
		return opts, fmt.Errorf("auth: %w", err)
	}
	opts.Authenticate = func(r *http.Request) error {
		_, err := server.Authenticate(r.Context(), maps.Clone(r.Header))
		return err
	}
	return opts, nil
}

// Shutdown implements component.Component.
func (e *viewerExtension) Shutdown(context.Context) error {
	if e.server == nil {
		return nil
	}
	viewer.Stop(e.server) //nolint:contextcheck // it has a time of its own
	e.stop()
	e.running.Wait()
	return e.catalogue.Close()
}
