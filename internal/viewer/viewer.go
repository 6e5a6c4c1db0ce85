// Package viewer answers for the runs of trace files over HTTP: the JSON API of docs/api.md and the
// page that shows it, which is embedded in the binary.
package viewer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/runindex"
)

// The defaults of Options.
const (
	DefaultMaxConcurrent  = 8
	DefaultRequestTimeout = 20 * time.Second
)

// Options are the settings of a Viewer.
type Options struct {
	// Catalogue of the runs to show: a runindex.Catalogue. Required. The Viewer neither runs nor closes it.
	Catalogue runindex.Source
	// Version of the release, for /api/health.
	Version string
	// AllowedHosts are the names by which the page may be asked for: a host, a host with a port, or
	// "*.example.com" for every name below. "*" allows all. Loopback names are always allowed.
	AllowedHosts []string
	// Endpoint is the host that the server listens on: it is an allowed one. "0.0.0.0" and "::" allow
	// every IP address.
	Endpoint string
	// MaxMemory is what all opened runs may take, in bytes. Zero means runindex.DefaultMaxMemory.
	MaxMemory int64
	// MaxTraceSpans is how many spans of a trace are answered. Zero means
	// runindex.DefaultMaxTraceSpans.
	MaxTraceSpans int
	// MaxConcurrent is how many requests are worked on at once. Zero means DefaultMaxConcurrent.
	MaxConcurrent int
	// RequestTimeout is how long a request may be worked on. Zero means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// JaegerURL is the address of a Jaeger's page that traces are linked to; "" for none.
	JaegerURL string
	// Authenticate returns an error for a request that may not read; nil lets everybody read.
	Authenticate func(*http.Request) error
	// Warn is told what went wrong within a request; nil drops it.
	Warn func(string)
}

// Viewer is an http.Handler of the API and the page.
type Viewer struct {
	opts     Options
	runs     *runindex.Runs
	hosts    hostList
	instance string // of this process: cursors of another one are unknown
	slots    chan struct{}
	waiting  answerBudget
}

// New returns a Viewer; an error names the setting that is wrong.
func New(opts Options) (*Viewer, error) {
	if opts.Catalogue == nil {
		return nil, errors.New("viewer: Catalogue is missing")
	}
	opts.MaxConcurrent = cmp.Or(opts.MaxConcurrent, DefaultMaxConcurrent)
	opts.RequestTimeout = cmp.Or(opts.RequestTimeout, DefaultRequestTimeout)
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	hosts, err := parseHosts(opts.AllowedHosts, opts.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("allowed hosts: %w", err)
	}
	if err := CheckJaegerURL(opts.JaegerURL); err != nil {
		return nil, err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	return &Viewer{
		opts: opts,
		runs: runindex.NewRuns(opts.Catalogue, runindex.RunsOptions{
			MaxMemory: opts.MaxMemory, MaxTraceSpans: opts.MaxTraceSpans, Warn: opts.Warn,
		}),
		hosts:    hosts,
		instance: hex.EncodeToString(id),
		slots:    make(chan struct{}, opts.MaxConcurrent),
	}, nil
}

// ServeHTTP implements http.Handler.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	// A deadline of an answer before on the same connection would end this one. Where there is no
	// deadline (in tests) the error is of no use.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(v.opts.RequestTimeout + sendPatience))
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			v.opts.Warn(fmt.Sprintf("a request for %.200q failed: %v", r.URL.Path, p))
			v.fail(w, r, &apiError{http.StatusInternalServerError, "internal", "an error of the viewer; its log has it"})
		}
	}()
	if err := v.hosts.check(r); err != nil {
		v.fail(w, r, err)
		return
	}
	path, isAPI := strings.CutPrefix(r.URL.Path, "/api")
	if isAPI && (path == "" || path[0] == '/') {
		v.serveAPI(w, r, path)
		return
	}
	servePage(w, r)
}

func (v *Viewer) serveAPI(w http.ResponseWriter, r *http.Request, path string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		v.fail(w, r, &apiError{http.StatusMethodNotAllowed, "method", "only GET and HEAD are answered"})
		return
	}
	e, ok := endpoints[path]
	if !ok {
		v.fail(w, r, &apiError{http.StatusNotFound, "no_such_path", "there is no such path: docs/api.md lists them"})
		return
	}
	if v.opts.Authenticate != nil && !e.open {
		if err := v.opts.Authenticate(r); err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			v.fail(w, r, &apiError{http.StatusUnauthorized, "no_token", "the server wants a token: send the header Authorization: Bearer TOKEN"})
			return
		}
	}
	body, err := v.work(r, path, e)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	v.send(w, r, http.StatusOK, body)
}

// ServeError answers for a request that a server around the viewer refuses.
func (v *Viewer) ServeError(w http.ResponseWriter, r *http.Request, text string, status int) {
	setSecurityHeaders(w.Header())
	v.fail(w, r, &apiError{status, "request", text})
}

// work makes an answer in its turn and its time.
func (v *Viewer) work(r *http.Request, path string, e endpoint) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), v.opts.RequestTimeout)
	defer cancel()
	if !e.open {
		turn, stop := context.WithTimeout(ctx, turnPatience)
		defer stop()
		select {
		case v.slots <- struct{}{}:
			defer func() { <-v.slots }()
		case <-turn.Done():
			return nil, errBusy
		}
	}
	q, err := v.parse(ctx, r, path, e)
	if err != nil {
		return nil, err
	}
	body, err = e.answer(q)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, &apiError{http.StatusServiceUnavailable, "too_slow", "it took longer than " + v.opts.RequestTimeout.String()}
	}
	return body, err
}
