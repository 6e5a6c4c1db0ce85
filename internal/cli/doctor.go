package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/doctor"
)

func newDoctor(a *app) *cobra.Command {
	var set doctor.Settings
	var headers, viewerHeaders, jaegerHeaders []string
	cmd := &cobra.Command{
		Use:   "doctor [--endpoint URL]",
		Short: "Follow a test span to every place where it should arrive, and say what is wrong",
		Long: `Send one test span, of a run of its own and the service ` + doctor.Service + `, to a collector's endpoint and
follow it: into the trace file, a viewer and a Jaeger, where they are named. For each place one line says
what was seen, and where something is wrong another one, "change:", which setting to change, its value and
the remedy. Run it where the program runs that is to send spans: in its pod, with its environment.

--endpoint is what the program has in OTEL_EXPORTER_OTLP_ENDPOINT: for OTLP/HTTP /v1/traces is added to it.
What is not given is taken from the environment as an OpenTelemetry SDK takes it: OTEL_EXPORTER_OTLP_ENDPOINT,
_PROTOCOL, _HEADERS, _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY, and the same with _TRACES_ before these
names. Proxies of the environment are told, and not used.

The clock is compared with the Date header of HTTP answers: of the endpoint by OTLP/HTTP, of port 4318
beside a gRPC port 4317, of the viewer, of Jaeger. It has seconds only; more than two are a finding.

The endpoint has --timeout to take the span, and the places behind it have --timeout together to show it; at
most it takes twice as long and five seconds. The span stays where it arrived, under its own run: an
ordinary root span without children.

Exit codes: 0 all is well, 2 the command was not understood, 130 interrupted; else that of the first finding
on the way, by the table below.`,
		Example: `  runspan doctor --endpoint http://127.0.0.1:4317 --trace-jsonl data/traces.jsonl
  runspan doctor --endpoint http://otel-collector.tracing.svc:4317 --viewer http://otel-collector.tracing.svc:18318
  runspan doctor --endpoint http://127.0.0.1:4317 --jaeger http://127.0.0.1:16686 --json | jq '.places[] | select(.finding)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, h := range map[string]struct {
				from []string
				to   *map[string]string
			}{
				"header":        {headers, &set.Headers},
				"viewer-header": {viewerHeaders, &set.ViewerHeaders},
				"jaeger-header": {jaegerHeaders, &set.JaegerHeaders},
			} {
				var err error
				if *h.to, err = parseHeaders(flag, h.from); err != nil {
					return err
				}
			}
			return a.doctor(cmd.Context(), set)
		},
	}
	f := cmd.Flags()
	f.StringVar(&set.Endpoint, "endpoint", "", "the address that the program sends its spans to, as a `URL`")
	f.StringVar(&set.Protocol, "protocol", "", "grpc or http; default http for port 4318 or with a path, else grpc")
	f.StringArrayVar(&headers, "header", nil, "a header to send, as `KEY=VALUE`; others see it in the list of processes, not so OTEL_EXPORTER_OTLP_HEADERS; can be repeated")
	f.StringVar(&set.CA, "ca", "", "a `FILE` of certificates in PEM to trust instead of the system's")
	f.StringVar(&set.Cert, "cert", "", "the client's certificate, a `FILE` in PEM")
	f.StringVar(&set.Key, "key", "", "its key, a `FILE` in PEM")
	f.StringVar(&set.TraceFile, "trace-jsonl", "", "the `FILE` that the collector writes, as it is seen here; may hold {run.id} and {service.name} as the collector's path does")
	f.StringVar(&set.Viewer, "viewer", "", "the `URL` of a viewer's page")
	f.StringArrayVar(&viewerHeaders, "viewer-header", nil, "a header for the viewer, as `KEY=VALUE`; can be repeated")
	f.StringVar(&set.Jaeger, "jaeger", "", "the `URL` of a Jaeger's pages")
	f.StringArrayVar(&jaegerHeaders, "jaeger-header", nil, "a header for Jaeger, as `KEY=VALUE`; can be repeated")
	f.DurationVar(&set.Timeout, "timeout", doctor.DefaultTimeout, "how long the endpoint may take, and then all other places together")
	return cmd
}

func parseHeaders(flag string, pairs []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(key) == "" {
			// A value without its key may be a token.
			return nil, fmt.Errorf("--%s %q has no value: write KEY=VALUE", flag, key)
		}
		headers[strings.ToLower(strings.TrimSpace(key))] = value
	}
	return headers, nil
}

func (a *app) doctor(ctx context.Context, set doctor.Settings) error {
	if err := set.FromEnv(os.Getenv); err != nil {
		return err
	}
	report, err := doctor.Run(ctx, set)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		a.printDoctor(report)
	}
	if err == nil && !report.OK {
		err = exitError(report.ExitCode)
	}
	return err
}

func (a *app) printDoctor(r *doctor.Report) {
	a.printf("%-9s %s, trace %s, service %s\n", "run", r.RunID, r.TraceID, r.Service)
	wrong := 0
	for _, p := range r.Places {
		a.printf("%-9s ", p.Place)
		switch p.State {
		case doctor.Note:
			a.printf("note: ")
		case doctor.Wrong:
			wrong++
			a.printf("WRONG: ")
		}
		a.printf("%s\n", visible(p.Seen))
		if p.Change != "" {
			a.printf("%-9s change: %s\n", "", visible(p.Change))
		}
	}
	if wrong == 0 {
		a.printf("all is well\n")
		return
	}
	a.printf("%s, exit code %d\n", plural(wrong, "finding"), r.ExitCode)
}
