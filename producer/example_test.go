package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os/exec"

	"github.com/runspan/runspan/producer"
)

var tracer = producer.Tracer("example.com/trainer")

// A program that goes on whatever becomes of its tracing. With an endpoint, in the settings or in
// OTEL_EXPORTER_OTLP_ENDPOINT, spans go there; here there is none, and nothing is installed.
func Example() {
	ctx := context.Background()
	rt, err := producer.Start(ctx, producer.Config{
		Enabled:     true,
		ServiceName: "gateway",
		SampleRatio: 0.1,
	})
	if err != nil {
		log.Print(err) // the mode is off
	}
	defer func() { _ = rt.Shutdown(ctx) }()

	serve := func(ctx context.Context) (err error) {
		_, span := tracer.Start(ctx, "request")
		defer func() { producer.End(span, err) }()
		return errors.New("no GPU is left")
	}
	fmt.Println(rt.Mode(), serve(ctx))
	// Output: off no GPU is left
}

// The same settings as a block of a gateway's own configuration.
func ExampleConfig() {
	var config struct {
		Tracing producer.Config `json:"tracing"`
	}
	text := `{"tracing": {"enabled": true, "endpoint": "http://collector.tracing.svc:4318/otlp", "sample_ratio": 0.25, "service_name": "gateway"}}`
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		panic(err)
	}
	rt, err := producer.Start(context.Background(), config.Tracing)
	if err != nil {
		panic(err)
	}
	defer func() { _ = rt.Shutdown(context.Background()) }()
	fmt.Println(rt.Mode(), rt.Env()["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], rt.Env()["OTEL_TRACES_SAMPLER_ARG"])
	// Output: external http://collector.tracing.svc:4318/otlp/v1/traces 0.25
}

// What does not go together is an error that names both settings.
func ExampleSettingError() {
	_, err := producer.Start(context.Background(), producer.Config{
		Enabled: true, Endpoint: "http://collector:4317", Viewer: producer.Viewer{Enabled: true},
	})
	fmt.Println(err)
	// Output: producer: Viewer.Enabled, TraceJSONL: Viewer.Enabled with the external endpoint of Endpoint needs TraceJSONL, the path of the file that its collector writes
}

// A child process, in any language, gets the environment.
func ExampleRuntime_Environ() {
	ctx := context.Background()
	rt, err := producer.Start(ctx, producer.Config{Enabled: true, RunID: "my-run", Endpoint: "http://collector:4317"})
	if err != nil {
		log.Print(err)
	}
	defer func() { _ = rt.Shutdown(ctx) }()
	cmd := exec.Command("sh", "-c", "echo $OTEL_EXPORTER_OTLP_ENDPOINT $OTEL_RESOURCE_ATTRIBUTES")
	cmd.Env = append(cmd.Environ(), rt.Environ()...)
	out, err := cmd.Output()
	fmt.Print(string(out), err)
	// Output:
	// http://collector:4317 run.id=my-run
	// <nil>
}

// A trace goes on where a message arrives.
func ExampleInject() {
	ctx := context.Background()
	rt, err := producer.Start(ctx, producer.Config{Enabled: true, Endpoint: "http://collector:4317"})
	if err != nil {
		log.Print(err)
	}
	type message struct {
		Work  string
		Trace map[string]string `json:",omitempty"` // not there when tracing is off
	}

	// The sender:
	ctx, sent := tracer.Start(ctx, "dispatch")
	m := message{Work: "generate", Trace: producer.Inject(ctx)}
	sent.End()

	// The receiver, in another process:
	_, received := tracer.Start(producer.Extract(context.Background(), m.Trace), m.Work)
	fmt.Println(received.SpanContext().TraceID() == sent.SpanContext().TraceID())
	received.End()

	// Nobody listens at the endpoint of this example: the flush ends with its context.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_ = rt.Shutdown(ended)
	// Output: true
}
