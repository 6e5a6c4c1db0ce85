package producer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/runspan/runspan/producer"
)

// roleVariable makes this test binary one of the programs below.
const roleVariable = "RUNSPAN_TEST_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func(context.Context) error{
		"control-plane": controlPlane, "agent": agent, "worker": worker, "interrupted": interrupted,
		"viewer": func(context.Context) error { return viewer() },
	}
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err := role(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// configVariable holds the producer.Config of a control plane or worker, in JSON.
const configVariable = "RUNSPAN_TEST_CONFIG"

func configOfRole() (cfg producer.Config) {
	if err := json.Unmarshal([]byte(os.Getenv(configVariable)), &cfg); err != nil {
		panic(err)
	}
	return cfg
}

// report is what a role says of its Runtime on its standard output, a line of JSON.
type report struct {
	Mode     producer.Mode
	RunID    string
	Endpoint string
	File     string
	Viewer   string
	Warnings []string
	Error    string
	Shutdown string
	Took     time.Duration // of Start
	Stopped  time.Duration // of Shutdown
	Work     time.Duration // of the worker's spans
}

func reportOf(rt *producer.Runtime, err error, took time.Duration) report {
	r := report{
		Mode: rt.Mode(), RunID: rt.RunID(), Endpoint: rt.Endpoint(), File: rt.TraceFile(), Viewer: rt.ViewerURL(),
		Warnings: rt.Warnings(), Took: took,
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (r report) print() error { return json.NewEncoder(os.Stdout).Encode(r) }

// message is what the control plane sends to its agent.
type message struct {
	Work  string
	Trace map[string]string `json:",omitempty"`
}

var tracer = producer.Tracer("github.com/runspan/runspan/test/e2e/producer")

// controlPlane serves one request: it hands the work to an agent, a process of its own.
func controlPlane(ctx context.Context) (err error) {
	begin := time.Now()
	rt, err := producer.Start(ctx, configOfRole())
	if err != nil {
		return err
	}
	r := reportOf(rt, nil, time.Since(begin))
	ctx, span := tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	err = dispatch(ctx, rt)
	producer.End(span, err)
	if err := errors.Join(err, rt.Shutdown(ctx)); err != nil {
		return err
	}
	return r.print()
}

func dispatch(ctx context.Context, rt *producer.Runtime) (err error) {
	ctx, span := tracer.Start(ctx, "dispatch", trace.WithSpanKind(trace.SpanKindProducer))
	defer func() { producer.End(span, err) }()
	text, err := json.Marshal(message{Work: "generate", Trace: producer.Inject(ctx)})
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), rt.Environ()...), roleVariable+"=agent", "OTEL_SERVICE_NAME=agent")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)+"\n"), os.Stderr
	return cmd.Run()
}

// agent works on the messages of its standard input.
func agent(ctx context.Context) error {
	rt, err := producer.FromEnv(ctx)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		_, span := tracer.Start(producer.Extract(ctx, m.Trace), m.Work, trace.WithSpanKind(trace.SpanKindConsumer))
		producer.End(span, errors.New("no GPU is left"))
	}
	return errors.Join(lines.Err(), rt.Shutdown(ctx))
}

// worker makes spans for as long as its standard input is open, whatever becomes of them, and reports
// how long that took and how it ended. It goes on where Start fails, as a program should.
func worker(ctx context.Context) error {
	begin := time.Now()
	rt, err := producer.Start(ctx, configOfRole())
	r := reportOf(rt, err, time.Since(begin))
	if err := r.print(); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() { // the name of a span, a hundred times
		begin := time.Now()
		for range 100 {
			_, span := tracer.Start(ctx, lines.Text())
			span.End()
		}
		r.Work = max(r.Work, time.Since(begin))
		flush, cancel := context.WithTimeout(ctx, time.Second)
		_ = rt.Flush(flush) // the report says what matters
		cancel()
	}
	begin = time.Now()
	if err := rt.Shutdown(ctx); err != nil {
		r.Shutdown = err.Error()
	}
	r.Stopped = time.Since(begin)
	return r.print()
}

// interrupted counts interrupts: those that come within a second of the first.
func interrupted(context.Context) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt)
	fmt.Println("ready")
	<-signals
	n := 1
	for end := time.After(time.Second); ; {
		select {
		case <-signals:
			n++
		case <-end:
			fmt.Println("interrupts:", n)
			os.Exit(5)
		}
	}
}
