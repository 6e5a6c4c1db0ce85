package tracefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// BenchmarkAppend has 16 clients append lines of 20 KB: acknowledged when written, when synced by a
// group commit, and with an fsync of their own each, which is what group commit replaces.
func BenchmarkAppend(b *testing.B) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		b.Run(string(durability), func(b *testing.B) {
			opts := testOptions(filepath.Join(b.TempDir(), "traces.jsonl"))
			opts.Durability, opts.RetryLines = durability, 100_000
			fs := &faultFS{}
			opts.fs = fs
			a, err := Open(b.Context(), opts)
			require.NoError(b, err)
			benchmarkClients(b, func(line []byte) error { return put(b.Context(), a, line) })
			require.NoError(b, a.Close(b.Context()))
			b.ReportMetric(float64(fs.syncs)/float64(b.N), "fsyncs/op")
		})
	}
	b.Run("fsync_a_request", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "traces.jsonl"))
		require.NoError(b, err)
		var mu sync.Mutex
		benchmarkClients(b, func(line []byte) error {
			mu.Lock()
			defer mu.Unlock()
			if _, err := f.Write(line); err != nil {
				return err
			}
			return f.Sync()
		})
		require.NoError(b, f.Close())
	})
}

func benchmarkClients(b *testing.B, write func(line []byte) error) {
	b.Helper()
	var next atomic.Uint64
	b.SetBytes(20_000)
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		line := append(bytes.Repeat([]byte("x"), 19_999), '\n')
		for pb.Next() {
			binary.LittleEndian.PutUint64(line, next.Add(1)) // each line once
			if err := write(line); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkHash compares what could tell a retried line, on one of 200 spans.
func BenchmarkHash(b *testing.B) {
	line := bytes.Repeat([]byte("x"), 158_000)
	seed1, seed2 := maphash.MakeSeed(), maphash.MakeSeed()
	for name, hash := range map[string]func(){
		"xxh3_128":      func() { xxh3.Hash128Seed(line, 1) },
		"maphash_twice": func() { maphash.Bytes(seed1, line); maphash.Bytes(seed2, line) },
		"sha256":        func() { sha256.Sum256(line) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				hash()
			}
		})
	}
}
