package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// runspan runs a command line in this process.
func runspan(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = Run(ctx, args, &out, &errOut)
	return code, out.String(), errOut.String()
}

// spanOf is what a test line holds.
type spanOf struct {
	resourceRun, run string
	number           byte
}

// line is a line with one resource for each span, and its newline.
func line(spans ...spanOf) []byte {
	td := ptrace.NewTraces()
	for _, s := range spans {
		rs := td.ResourceSpans().AppendEmpty()
		if s.resourceRun != "" {
			rs.Resource().Attributes().PutStr("run.id", s.resourceRun)
		}
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: s.number})
		span.SetSpanID(pcommon.SpanID{7: s.number})
		span.SetName("a \"step\"")
		if s.run != "" {
			span.Attributes().PutStr("run.id", s.run)
		}
	}
	return append(tracefile.AppendTraces(nil, td), '\n')
}

func writeFile(tb testing.TB, data []byte, name ...string) string {
	tb.Helper()
	path := filepath.Join(name...)
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(tb, os.WriteFile(path, data, 0o600))
	return path
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	require.NoError(tb, err)
	return data
}
