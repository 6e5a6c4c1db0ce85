package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Jaeger is a real Jaeger with its storage in memory.
type Jaeger struct {
	*Process
	OTLP   string // host:port of its OTLP/gRPC receiver
	Legacy string // host:port of the receiver of its own protocol, 14250 by convention
	Query  string // host:port of its query API
}

// StartJaeger starts a Jaeger and waits until its query API answers.
func StartJaeger(t *testing.T) *Jaeger {
	t.Helper()
	ports := FreePorts(t, 5)
	return StartJaegerAt(t, ports[0], ports[1:])
}

// StartJaegerAt starts a Jaeger whose OTLP/gRPC receiver listens on the given address; it needs
// four further addresses.
func StartJaegerAt(t *testing.T, otlp string, others []string) *Jaeger {
	t.Helper()
	j := &Jaeger{OTLP: otlp, Legacy: others[3], Query: others[0]}
	cmd := exec.Command(Tool(t, "jaeger", "8 minutes"), "--config",
		filepath.Join(Root(t), "internal", "tools", "jaeger", "jaeger.yaml"))
	cmd.Env = append(os.Environ(),
		"JAEGER_OTLP_GRPC="+j.OTLP,
		"JAEGER_OTLP_HTTP="+others[1],
		"JAEGER_QUERY="+j.Query,
		"JAEGER_QUERY_GRPC="+others[2],
		"JAEGER_GRPC="+j.Legacy,
	)
	j.Process = Start(t, cmd)
	WaitFor(t, readyWithin, "Jaeger to be ready", func() error {
		return getOK(t.Context(), "http://"+j.Query+"/api/services")
	})
	return j
}

// Search asks the query API as Jaeger's own search page does: by service and tag, whole traces.
// It returns every span of every trace found.
func (j *Jaeger) Search(ctx context.Context, service, run string) ([]Span, error) {
	tags, err := json.Marshal(map[string]string{"run.id": run})
	if err != nil {
		return nil, err
	}
	query := url.Values{
		"service": {service}, "tags": {string(tags)}, "limit": {"100000"}, "lookback": {"48h"},
	}
	var body jaegerTraces
	if err := j.ask(ctx, "/api/traces?"+query.Encode(), &body); err != nil {
		return nil, err
	}
	return body.spans(), nil
}

// ask decodes the answer of the query API to a path.
func (j *Jaeger) ask(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+j.Query+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", req.URL, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// WaitSearch repeats a search until it finds at least n spans, and returns what it then finds.
func (j *Jaeger) WaitSearch(t *testing.T, service, run string, n int) []Span {
	t.Helper()
	var found []Span
	WaitFor(t, 60*time.Second, fmt.Sprintf("%d spans of run %s and service %s in Jaeger", n, run, service), func() error {
		var err error
		found, err = j.Search(t.Context(), service, run)
		if err == nil && len(found) < n {
			err = fmt.Errorf("%d so far", len(found))
		}
		return err
	})
	return found
}

type jaegerTraces struct {
	Data []struct {
		Spans []struct {
			TraceID       string
			SpanID        string
			OperationName string
			ProcessID     string
			References    []struct{ RefType, SpanID string }
			Tags          []jaegerTag
		}
		Processes map[string]struct {
			ServiceName string
		}
	}
}

type jaegerTag struct {
	Key   string
	Value any
}

func (b jaegerTraces) spans() []Span {
	var spans []Span
	for _, trace := range b.Data {
		for _, s := range trace.Spans {
			span := Span{
				TraceID: s.TraceID, SpanID: s.SpanID, Name: s.OperationName,
				Service: trace.Processes[s.ProcessID].ServiceName,
			}
			for _, ref := range s.References {
				if ref.RefType == "CHILD_OF" {
					span.Parent = ref.SpanID
				}
			}
			for _, tag := range s.Tags {
				if tag.Key == "run.id" {
					span.Run, _ = tag.Value.(string)
				}
			}
			spans = append(spans, span)
		}
	}
	return spans
}
