package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/internal/viewer"
)

// viewFlags are the flags of `runspan view`.
type viewFlags struct {
	files        []string
	service, run string
	host         string
	port         uint16
	allowedHosts []string
	jaeger       string
	cache        string
	maxMemory    byteSize
}

func newView(a *app) *cobra.Command {
	f := viewFlags{maxMemory: runindex.DefaultMaxMemory}
	cmd := &cobra.Command{
		Use:   "view --trace-jsonl FILE...",
		Short: "Show the runs of files in a browser",
		Long: `Show the runs of trace files in a browser, while they are being written, and answer for them in JSON
(docs/api.md). It prints the address of the page and ends with Ctrl-C. A FILE may be a pattern in quotes;
its closed segments belong to it. A FILE that is not there yet is waited for.

Each byte is read once: what is known of the runs is kept in a cache folder, and a run is read when
somebody opens it. Everybody who reaches the address may read, so it is a loopback one unless --host says
otherwise; where it is reached by a name, the name must be in --allowed-hosts.`,
		Example: `  runspan view --trace-jsonl data/traces.jsonl
  runspan view --trace-jsonl 'runs/*/traces.jsonl' --run-id 20261201-101500-4242-9f8e7d6c
  runspan view --trace-jsonl data/traces.jsonl --port 8080 --jaeger-query-url http://127.0.0.1:16686`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("cache") {
				f.cache = cacheOf(f.files)
			}
			return a.view(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.files, "trace-jsonl", nil, "a trace file or a pattern; may be given several times")
	flags.StringVar(&f.service, "service", "", "open the page at this service")
	flags.StringVar(&f.run, "run-id", "", "open the page at this run")
	flags.StringVar(&f.host, "host", "127.0.0.1", "the address to listen on; 0.0.0.0 for all")
	flags.Uint16Var(&f.port, "port", 18318, "the port to listen on; 0 takes a free one")
	flags.StringSliceVar(&f.allowedHosts, "allowed-hosts", nil, "names by which the page is reached: NAME, NAME:PORT or *.DOMAIN")
	flags.StringVar(&f.jaeger, "jaeger-query-url", "", "the address of a Jaeger's page; traces are linked to it")
	flags.StringVar(&f.cache, "cache", "", "the folder in which to keep what is known of these files; '' keeps nothing")
	flags.Var(&f.maxMemory, "max-memory", "what opened runs may take in memory, about 80 bytes a span")
	// The folder depends on who runs it, and the help is in docs/commands.md.
	flags.Lookup("cache").DefValue = "one of these files in ~/.cache/runspan/view"
	return cmd
}

// cacheOf returns the folder for what is known of files, "" where the user has none for what can be made
// again. Each set of files has one of its own: a cache is of one catalogue.
func cacheOf(files []string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, file := range files {
		if path, err := filepath.Abs(file); err == nil {
			file = path
		}
		_, _ = io.WriteString(sum, file+"\x00") // a hash takes everything
	}
	return filepath.Join(dir, "runspan", "view", hex.EncodeToString(sum.Sum(nil)[:8]))
}

func (a *app) view(ctx context.Context, f *viewFlags) error {
	if len(f.files) == 0 {
		return errors.New("--trace-jsonl is missing: name the file to show")
	}
	warn := lockedWarn(a)
	catalogue, err := runindex.Open(runindex.Options{Files: f.files, CacheDir: f.cache, Warn: warn})
	if err != nil {
		return err
	}
	defer func() { _ = catalogue.Close() }() // the cache can be made again
	v, err := viewer.New(viewer.Options{
		Catalogue: catalogue, Version: Version,
		AllowedHosts: f.allowedHosts, Endpoint: f.host,
		MaxMemory: int64(f.maxMemory), JaegerURL: f.jaeger, Warn: warn,
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(f.host, strconv.Itoa(int(f.port))))
	if err != nil {
		return fmt.Errorf("%w: choose another one with --host and --port (--port 0 takes a free one)", err)
	}
	if err := a.printAddress(f, listener.Addr()); err != nil {
		return err
	}
	if ip := net.ParseIP(f.host); ip != nil && !ip.IsLoopback() {
		warn("everybody who reaches this address may read the files")
	}
	running, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { catalogue.Run(running) })
	reading.Go(func() { warnWaiting(running, catalogue, warn) })
	err = viewer.Serve(ctx, listener, v)
	stop()
	reading.Wait()
	return err
}

// warnWaiting says what is waited for, when the files have been looked at and none is there.
func warnWaiting(ctx context.Context, catalogue *runindex.Catalogue, warn func(string)) {
	for ctx.Err() == nil {
		switch s := catalogue.Snapshot(); {
		case s.State == runindex.StateWaiting:
			warn(s.Reason)
			return
		case s.State == runindex.StateReady || s.Total > 0:
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// printAddress prints the address of the page at the run and service that are asked for.
func (a *app) printAddress(f *viewFlags, listening net.Addr) error {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	page := viewer.PageURL(f.run, f.service)
	address := (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}).String() + page
	if a.json {
		err = a.printJSON(struct {
			URL string `json:"url"`
		}{address})
	} else {
		a.printf("%s\n", address)
	}
	return errors.Join(err, a.out.Flush())
}

// lockedWarn returns a complaint that goroutines may share.
func lockedWarn(a *app) func(string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		a.complain(errors.New(text))
	}
}
