package tracefile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTornTail(t *testing.T) {
	long := strings.Repeat("long", 50000)
	for name, tc := range map[string]struct{ before, after, torn string }{
		"empty":                    {before: ""},
		"whole":                    {before: "one\ntwo\n", after: "one\ntwo\n"},
		"torn":                     {before: "one\ntw", after: "one\n", torn: "tw\n"},
		"nothing but torn":         {before: "on", torn: "on\n"},
		"longer than a look back":  {before: "one\n" + long, after: "one\n", torn: long + "\n"},
		"a line just as long":      {before: long + "\ntorn", after: long + "\n", torn: "torn\n"},
		"nothing but a long torn":  {before: long, torn: long + "\n"},
		"zeros at the end":         {before: "one\n\x00\x00\x00", after: "one\n", torn: "\x00\x00\x00\n"},
		"zeros before a line":      {before: "one\nt\x00\x00\nthree\n", after: "one\nthree\n", torn: "t\x00\x00\nthree\n\n"},
		"zeros before a torn line": {before: "\x00\x00two\nthree\nfo", after: "three\n", torn: "\x00\x00two\nthree\nfo\n"},
		"zeros far from the end":   {before: "one\n\x00\n" + long + "\nx", after: "one\n" + long + "\n", torn: "\x00\n" + long + "\nx\n"},
		"an object without an end": {before: "{}\n{}", after: "{}\n", torn: "{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tc.before), 0o600))
			seen := &counts{}
			opts := testOptions(path)
			opts.Observer = seen
			a := mustOpen(t, opts)
			assert.Equal(t, tc.after, content(t, path))
			require.NoError(t, put(t.Context(), a, []byte("new\n")))
			assert.Equal(t, tc.after+"new\n", content(t, path))
			if tc.torn == "" {
				assert.NoFileExists(t, path+".torn")
			} else {
				assert.Equal(t, tc.torn, content(t, path+".torn"))
				assert.EqualValues(t, len(tc.torn)-1, seen.moved)
			}
		})
	}
}

func TestTornIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	for _, torn := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(path, []byte("line\n"+torn), 0o600))
		require.NoError(t, mustOpen(t, testOptions(path)).Close(t.Context()))
	}
	assert.Equal(t, "first\nsecond\n", content(t, path+".torn"))
}

// What was torn is safe on the disk before it is cut off.
func TestTornIsSyncedFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("one\ntorn"), 0o600))
	fs := &faultFS{}
	synced := false
	fs.sync = func(f *os.File) error {
		synced = synced || f.Name() == path+".torn"
		return nil
	}
	fs.truncate = func(*os.File, int64) error {
		assert.True(t, synced, "cut before it was safe")
		return nil
	}
	opts := testOptions(path)
	opts.fs = fs
	mustOpen(t, opts)
	assert.Equal(t, "one\n", content(t, path))
}

func TestTornOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("one\ntorn"), 0o600))
	fs := &faultFS{write: func(f *os.File, line []byte) (int, error) {
		n, _ := f.Write(line[:1])
		return n, syscall.ENOSPC
	}}
	opts := testOptions(path)
	opts.fs = fs
	a := mustOpen(t, opts) // a collector that will not start would not take other signals either
	require.ErrorIs(t, put(t.Context(), a, []byte("two\n")), syscall.ENOSPC)
	assert.Equal(t, "one\ntorn", content(t, path), "nothing is cut off before it is safe")
	assert.Empty(t, content(t, path+".torn"), "a full disk gets no copy at each try")

	fs.set(func(fs *faultFS) { fs.write = nil })
	soon(t, func() bool { return put(t.Context(), a, []byte("two\n")) == nil }, "healed")
	assert.Equal(t, "one\ntwo\n", content(t, path))
	assert.Equal(t, "torn\n", content(t, path+".torn"))
}
