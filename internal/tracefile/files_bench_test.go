package tracefile

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFiles writes lines of 160 KB, 200 spans, to one file, to new files, and to 1,000 files in
// turn through as many open ones as the name says.
func BenchmarkFiles(b *testing.B) {
	for _, tc := range []struct {
		name       string
		path       string
		runs, open int
	}{
		{"one", "/traces.jsonl", 1, 1},
		{"new", "/{run.id}/traces.jsonl", 1 << 30, 256},
		{"1000open", "/{run.id}/traces.jsonl", 1000, 2000},
		{"256open", "/{run.id}/traces.jsonl", 1000, 256},
	} {
		b.Run(tc.name, func(b *testing.B) {
			opts := FilesOptions{
				Options: Options{
					Durability: DurabilityWrite, SyncInterval: time.Second, WriteTimeout: 10 * time.Second,
					RetryLines: 100_000, RetryAge: 10 * time.Minute, CreateDirectory: true,
				},
				MaxOpen: tc.open,
			}
			var err error
			opts.Template, err = ParsePathTemplate(b.TempDir() + tc.path)
			require.NoError(b, err)
			f, err := OpenFiles(b.Context(), opts)
			require.NoError(b, err)
			line := append(bytes.Repeat([]byte("x"), 160<<10), '\n')
			put := func(i int) {
				copy(line, strconv.Itoa(i))
				_, err := f.Append(b.Context(), PathValues{Run: fmt.Sprint("run-", i%tc.runs)}, line)
				require.NoError(b, err)
			}
			if tc.runs <= 1000 {
				for i := range tc.runs {
					put(-i - 1000)
				}
			}
			b.SetBytes(int64(len(line)))
			b.ResetTimer()
			for i := range b.N {
				put(i)
			}
			b.StopTimer()
			require.NoError(b, f.Close(b.Context()))
		})
	}
}
