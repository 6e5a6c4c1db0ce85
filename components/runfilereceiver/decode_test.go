package runfilereceiver

import (
	"encoding/json"
	"math/rand"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Whatever encoding/json calls one object must be one here: a good line that is stepped over is
// a loss. What is no object must not pass as far as this check goes, and nothing may panic.
func FuzzObjectEnd(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":"}"}`, `{"a":"\\"}`, `{"a":"\\\""} `, `{}{}`, `{"a":[{"b":"]"}]}x`, `{`, `"`, `{"a`, "", " {}", `[]`,
		line(f, "a", "driver", 0, 2),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		end := objectEnd(data)
		if json.Valid(data) {
			var v any
			require.NoError(t, json.Unmarshal(data, &v))
			if _, ok := v.(map[string]any); ok && (end < 0 || !json.Valid(data[:end])) {
				t.Fatalf("%q ends at %d", data, end)
			}
		}
		if end > 0 && len(data[end:]) > 0 && data[end] == '{' {
			_, _, err := decodeLine(data)
			require.Error(t, err)
		}
	})
}

func TestHalve_KeepsEverySpanUnderItsResourceAndScope(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 300 {
		td, n := ptrace.NewTraces(), 0
		for r := range random.Intn(4) {
			rs := td.ResourceSpans().AppendEmpty()
			rs.SetSchemaUrl("resource")
			rs.Resource().Attributes().PutInt("resource", int64(r))
			for s := range random.Intn(4) {
				ss := rs.ScopeSpans().AppendEmpty()
				ss.SetSchemaUrl("scope")
				ss.Scope().Attributes().PutInt("scope", int64(s))
				for range random.Intn(5) {
					span := ss.Spans().AppendEmpty()
					span.Attributes().PutInt("resource", int64(r))
					span.Attributes().PutInt("scope", int64(s))
					span.Attributes().PutInt("number", int64(n))
					n++
				}
			}
		}
		td.MarkReadOnly()
		first, second := halve(td)
		require.Equal(t, n/2, first.SpanCount())
		require.Equal(t, n-n/2, second.SpanCount())
		next := int64(0)
		for _, part := range []ptrace.Traces{first, second} {
			for _, rs := range part.ResourceSpans().All() {
				require.Equal(t, "resource", rs.SchemaUrl())
				resource, _ := rs.Resource().Attributes().Get("resource")
				for _, ss := range rs.ScopeSpans().All() {
					require.Equal(t, "scope", ss.SchemaUrl())
					scope, _ := ss.Scope().Attributes().Get("scope")
					for _, span := range ss.Spans().All() {
						attrs := span.Attributes().AsRaw()
						require.Equal(t, map[string]any{"resource": resource.Int(), "scope": scope.Int(), "number": next}, attrs)
						next++
					}
				}
			}
		}
	}
}

func TestConfig(t *testing.T) {
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"run_file":           "",
		"run_file/all":       "",
		"run_file/empty":     "include: is empty: name the files",
		"run_file/pattern":   "is no pattern",
		"run_file/start":     `start_at: "now": write "beginning" or "end"`,
		"run_file/places":    "places: is empty",
		"run_file/batch":     "max_batch_bytes: -1",
		"run_file/line":      "max_line_bytes: 1000 is less than max_batch_bytes (2097152)",
		"run_file/in_flight": "max_in_flight: 0",
		"run_file/poll":      "poll_interval: 0s",
		"run_file/match":     "from (2026-12-02 00:00:00 +0000 UTC) is not before to (2026-12-01 00:00:00 +0000 UTC)",
	} {
		t.Run(name, func(t *testing.T) {
			sub, err := cm.Sub(name)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg))
			err = confmap.Validate(cfg)
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
			if name == "run_file/all" {
				c := cfg.(*Config)
				assert.Equal(t, "2026-12-01T09:00:00Z", c.Match.From.Format("2006-01-02T15:04:05Z07:00"))
				assert.Equal(t, "20261201", c.Match.Run)
			}
		})
	}
}

// What the decoder cannot keep is counted.
func TestDecodeLine_OldNameOfScopes(t *testing.T) {
	_, skipped, err := decodeLine([]byte(`{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{"name":"\"instrumentationLibrarySpans\""}]}]}]}`))
	require.NoError(t, err)
	assert.Equal(t, 1, skipped)
}
