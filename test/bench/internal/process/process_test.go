package process

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/contender"
)

func TestSum(t *testing.T) {
	const text = `# HELP otelcol_receiver_accepted_spans Number of spans
# TYPE otelcol_receiver_accepted_spans counter
otelcol_receiver_accepted_spans{receiver="otlp",transport="grpc"} 1200
otelcol_receiver_accepted_spans{receiver="otlp",transport="http"} 3e+06
otelcol_receiver_accepted_spans_more 7
`
	got, err := sum(strings.NewReader(text), acceptedSpans)
	require.NoError(t, err)
	assert.Equal(t, 3_001_200, got)

	got, err = sum(strings.NewReader(text), "otelcol_absent")
	require.NoError(t, err)
	assert.Zero(t, got)

	_, err = sum(strings.NewReader(acceptedSpans+" many\n"), acceptedSpans)
	require.ErrorContains(t, err, `"many" is no number`)
}

func TestTailKeepsTheEnd(t *testing.T) {
	var out tail
	assert.Equal(t, "it wrote nothing to stderr", out.String())
	for range 3 * tailBytes / 10 {
		_, err := out.Write([]byte("line nine\n"))
		require.NoError(t, err)
	}
	_, err := out.Write([]byte("the end\n"))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(out.text), tailBytes)
	assert.True(t, strings.HasSuffix(out.String(), "the end"))
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(8)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, p := range ports {
		seen[p] = true
	}
	assert.Len(t, seen, 8)
}

func TestAProgramThatEndsIsReported(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := Start(ctx, Files{Binary: "/bin/false"}, contender.Contender{Name: "broken", Config: "x.yaml"}, t.TempDir())
	require.ErrorContains(t, err, "contender broken: the collector ended at its start: it wrote nothing to stderr")

	_, err = Start(ctx, Files{Binary: "no-such-program"}, contender.Contender{Name: "absent"}, t.TempDir())
	require.ErrorContains(t, err, "make build")
}
