package runidprocessor

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// update writes the golden files anew: go test ./runidprocessor -run Golden -update. Read the diff.
var update = flag.Bool("update", false, "write testdata/golden/*/out.jsonl anew")

// TestGolden sends the requests of in.jsonl through one processor, in order, and compares what
// comes out with out.jsonl, byte for byte. Both hold one request a line, as a trace file does.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/golden/*")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in, err := os.ReadFile(filepath.Join(dir, "in.jsonl"))
			require.NoError(t, err)
			p := newTested(t, config(nil))
			var got bytes.Buffer
			for line := range bytes.Lines(in) {
				var decoder ptrace.JSONUnmarshaler
				td, err := decoder.UnmarshalTraces(line)
				require.NoError(t, err)
				if out := p.process(context.Background(), t, td); out != nil {
					var encoder ptrace.JSONMarshaler
					b, err := encoder.MarshalTraces(*out)
					require.NoError(t, err)
					got.Write(append(b, '\n'))
				}
			}
			golden := filepath.Join(dir, "out.jsonl")
			if *update {
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.String())
		})
	}
}
