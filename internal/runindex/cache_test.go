package runindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// warnings collects what a catalogue tells.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "\n")
}

// withCache returns a catalogue that has begun with what its cache holds, as Run does.
func withCache(t *testing.T, dir string, files ...string) (*Catalogue, *warnings) {
	t.Helper()
	w := &warnings{}
	c := catalogueOf(t, Options{Files: files, CacheDir: dir, Warn: w.add})
	c.restore()
	t.Cleanup(c.cache.close)
	return c, w
}

// bytesRestored are those that were not read because the cache knew them.
func bytesRestored(c *Catalogue) (read int64) {
	for _, f := range c.files {
		read += f.read
	}
	return read
}

func TestCacheSparesReading(t *testing.T) {
	path, dir := traceFile(t), t.TempDir()
	w := newWriter("a", "b", "")
	segment := strings.TrimSuffix(path, ".jsonl") + "-20261201T090000Z-1.jsonl"
	appendTo(t, segment, w.lines(50))
	appendTo(t, path, w.lines(3)+"bad\n"+w.lines(2000))
	for range 5 {
		c, _ := withCache(t, dir, path)
		catchUp(t, c)
		requireTruth(t, c, segment, path)
		c.closeCache()

		c, told := withCache(t, dir, path)
		size := c.Snapshot().Total
		assert.Equal(t, size, bytesRestored(c))
		c.lookAtAll(t)
		requireTruth(t, c, segment, path)
		assert.Empty(t, told.String())

		// What comes on top, and is saved in between.
		for range 3 {
			appendTo(t, path, w.lines(200))
			c.lookAtAll(t)
			c.save(time.Now(), true)
		}
		requireTruth(t, c, segment, path)
		assert.Empty(t, told.String())
		c.cache.close()
	}
}

func TestCacheIsNotBelievedWhereFilesChanged(t *testing.T) {
	w := newWriter("a", "b", "")
	first, second := w.lines(3000), w.lines(30)
	line := first[:strings.Index(first, "\n")+1]
	for name, change := range map[string]func(path string) error{
		"shorter":        func(path string) error { return os.Truncate(path, int64(len(line))) },
		"another":        func(path string) error { return os.WriteFile(path, []byte(second), 0o600) },
		"another tail":   func(path string) error { return os.WriteFile(path, []byte(line+first[len(line)+100:]+second), 0o600) },
		"another middle": changeMiddle,
		"gone":           os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path, dir := traceFile(t), t.TempDir()
			other := filepath.Join(filepath.Dir(path), "other.jsonl")
			appendTo(t, path, first)
			appendTo(t, other, newWriter("b", "c").lines(20))
			c, _ := withCache(t, dir, path, other)
			catchUp(t, c)
			c.closeCache()
			require.NoError(t, change(path))

			c, told := withCache(t, dir, path, other)
			catchUp(t, c)
			paths := []string{path, other}
			if name == "gone" {
				paths = paths[1:]
			}
			requireTruth(t, c, paths...)
			assert.Contains(t, told.String(), "it is read anew")
			c.closeCache()

			c, _ = withCache(t, dir, path, other)
			assert.NotZero(t, bytesRestored(c))
			catchUp(t, c)
			requireTruth(t, c, paths...)
		})
	}
}

// changeMiddle changes the bytes at 1 MiB, which are among those that are compared, and nothing else.
func changeMiddle(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("changed"), 1<<20)
	return err
}

// cacheOfMany returns the cache of a file with enough in it for branches, overflows and free pages.
func cacheOfMany(t *testing.T) (path string, cached []byte) {
	t.Helper()
	path, dir := traceFile(t), t.TempDir()
	runs := make([]string, 200)
	for i := range runs {
		runs[i] = fmt.Sprint("run ", i)
	}
	w := newWriter(runs...)
	c, _ := withCache(t, dir, path)
	for range 4 {
		appendTo(t, path, w.lines(150))
		c.lookAtAll(t)
		c.save(time.Now(), true)
	}
	c.cache.close()
	cached, err := os.ReadFile(filepath.Join(dir, cacheName))
	require.NoError(t, err)
	return path, cached
}

// requireUsable opens a catalogue with these bytes for a cache, which must tell the truth in the end.
func requireUsable(t *testing.T, path string, cached []byte) (told string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, cacheName), cached, 0o600))
	c, w := withCache(t, dir, path)
	c.lookAtAll(t)
	requireTruth(t, c, path)
	c.closeCache()
	again, _ := withCache(t, dir, path)
	assert.Equal(t, again.Snapshot().Total, bytesRestored(again), "the cache is good again")
	again.cache.close()
	return w.String()
}

func TestDamagedCacheIsMadeAnew(t *testing.T) {
	path, cached := cacheOfMany(t)
	require.Empty(t, requireUsable(t, path, cached))
	half := len(cached) / 2
	for name, damaged := range map[string][]byte{
		"text":       []byte("this is no cache"),
		"one byte":   {0},
		"zeros":      make([]byte, len(cached)),
		"half of it": cached[:half],
		"no start":   append(make([]byte, 2*os.Getpagesize()), cached[2*os.Getpagesize():]...),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, requireUsable(t, path, damaged), "making it anew")
		})
	}
	t.Run("empty", func(t *testing.T) { assert.Empty(t, requireUsable(t, path, nil)) })
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, cacheName, "x"), 0o700))
		c, told := withCache(t, dir, path)
		catchUp(t, c)
		requireTruth(t, c, path)
		assert.Contains(t, told.String(), "going on without")
	})
}

// Any bytes of the cache changed: some of them nobody reads; but never a wrong count, and never an end of
// the process. Pages are changed where they matter: in their heads and elements.
func TestChangedCacheIsNotBelieved(t *testing.T) {
	path, cached := cacheOfMany(t)
	random := rand.New(rand.NewPCG(7, 8))
	page := os.Getpagesize()
	for range 100 {
		changed := append([]byte(nil), cached...)
		for range 1 + random.IntN(4) {
			at := random.IntN(len(changed))
			if random.IntN(2) == 0 {
				at = at/page*page + random.IntN(256)
			}
			switch random.IntN(3) {
			case 0:
				changed[at] ^= 1 << random.IntN(8)
			case 1:
				changed[at] = byte(random.IntN(8))
			case 2: // another page of the same file
				from, to := random.IntN(len(changed)/page), random.IntN(len(changed)/page)
				copy(changed[to*page:][:page], cached[from*page:])
			}
		}
		requireUsable(t, path, changed)
	}
}

// A branch that leads to itself: bbolt would follow it until the stack is full, which ends the process.
func TestCacheWithACircleIsMadeAnew(t *testing.T) {
	path, cached := cacheOfMany(t)
	page, branches := os.Getpagesize(), 0
	for at := 0; at+page <= len(cached); at += page {
		id := binary.NativeEndian.Uint64(cached[at:])
		if int(id) != at/page || binary.NativeEndian.Uint16(cached[at+8:]) != pageBranch {
			continue
		}
		branches++
		circle := append([]byte(nil), cached...)
		count := int(binary.NativeEndian.Uint16(cached[at+10:]))
		for i := range count {
			binary.NativeEndian.PutUint64(circle[at+pageHeader+i*pageElement+8:], id)
		}
		requireUsable(t, path, circle)
	}
	assert.NotZero(t, branches)
}

func TestCacheOfAnotherVersionIsMadeAnew(t *testing.T) {
	path, cached := cacheOfMany(t)
	for _, version := range []uint64{0, cacheVersion + 1} {
		file := filepath.Join(t.TempDir(), cacheName)
		require.NoError(t, os.WriteFile(file, cached, 0o600))
		db, err := bbolt.Open(file, 0o600, nil)
		require.NoError(t, err)
		key := cacheKey(cacheKeyVersion)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket(cacheBucket).Put(key, sealed(key, binary.BigEndian.AppendUint64(nil, version)))
		}))
		require.NoError(t, db.Close())
		other, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, requireUsable(t, path, other), "making it anew")
	}
}

func TestSecondProcessReadsACopyOfTheCache(t *testing.T) {
	path, dir := traceFile(t), t.TempDir()
	w := newWriter("a", "b")
	appendTo(t, path, w.lines(500))
	first, _ := withCache(t, dir, path)
	catchUp(t, first)
	first.save(time.Now(), true)

	second, told := withCache(t, dir, path)
	assert.NotZero(t, bytesRestored(second))
	assert.Empty(t, told.String())
	appendTo(t, path, w.lines(10))
	for _, c := range []*Catalogue{second, first} {
		catchUp(t, c)
		requireTruth(t, c, path)
		c.closeCache()
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "the copy is gone")
}

func TestCacheFolderThatCannotBeMade(t *testing.T) {
	path := traceFile(t)
	appendTo(t, path, newWriter("a").lines(5))
	c, told := withCache(t, filepath.Join(path, "cache"), path)
	catchUp(t, c)
	requireTruth(t, c, path)
	c.closeCache()
	assert.Contains(t, told.String(), "going on without")
}

// cachingProcess is set in the environment of this program where it is the process that is killed.
const cachingProcess = "RUNSPAN_TEST_CACHING"

func TestMain(m *testing.M) {
	if folder := os.Getenv(cachingProcess); folder != "" {
		cacheForEver(folder)
	}
	os.Exit(m.Run())
}

// cacheForEver writes lines and caches what they tell, until somebody kills this process.
func cacheForEver(folder string) {
	path := filepath.Join(folder, "traces.jsonl")
	c, err := Open(Options{Files: []string{path}, CacheDir: folder})
	if err != nil {
		panic(err)
	}
	c.restore()
	w := newWriter("a", "b", "c")
	w.random = rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		_, err = f.WriteString(w.lines(20))
		if err != nil || f.Close() != nil {
			panic(err)
		}
		now := time.Now()
		c.look(now)
		for _, file := range c.files {
			c.read(context.Background(), file, now)
		}
		c.save(now, true)
	}
}

func TestCacheSurvivesAKill(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "traces.jsonl")
	restored := int64(0)
	for i := range 8 {
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), cachingProcess+"="+folder)
		require.NoError(t, process.Start())
		time.Sleep(time.Duration(100+i*37) * time.Millisecond)
		require.NoError(t, process.Process.Kill())
		_ = process.Wait()

		c, told := withCache(t, folder, path)
		restored += bytesRestored(c)
		assert.Empty(t, told.String())
		// A line that the kill tore has no end: it is no data.
		c.lookAtAll(t)
		requireTruth(t, c, path)
		c.cache.close()
		repairEnd(t, path)
	}
	assert.NotZero(t, restored)
}

// repairEnd takes away what is behind the last newline.
func repairEnd(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, int64(strings.LastIndex(string(text), "\n")+1)))
}
