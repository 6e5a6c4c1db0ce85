package tracefile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTail_WholeLinesOnly(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "one\ntwo\nthr")
	assert.Equal(t, "one\ntwo\n", x.deliver(t))
	assert.Zero(t, x.Progress()[0].Backlog, "bytes after the last newline are not data")
	x.append(t, "traces.jsonl", "ee\n")
	assert.Equal(t, "three\n", x.deliver(t))
}

func TestTail_FirstLineIsTorn(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "on")
	assert.Empty(t, x.deliver(t))
	x.append(t, "traces.jsonl", "e\n")
	assert.Equal(t, "one\n", x.deliver(t))
}

func TestTail_FilesAppear(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) {
		set.Include[0] = filepath.Join(filepath.Dir(set.Include[0]), "*", "*.jsonl")
	})
	assert.Empty(t, x.deliver(t))
	for _, run := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(x.path(run), 0o700))
		x.write(t, run+"/traces.jsonl", run+"\n")
		assert.Equal(t, run+"\n", x.deliver(t))
	}
}

func TestTail_SegmentsInTheirOrder(t *testing.T) {
	x := newTailFixture(t, nil)
	names := []string{
		"traces-20261201T090000Z-2.jsonl", "traces-20261201T090000Z-10.jsonl",
		"traces-20261201T100000.5Z-1.jsonl", "traces-2026-12-02T09-00-00.000.jsonl", "traces.jsonl",
	}
	var want strings.Builder
	for _, name := range names {
		fmt.Fprintf(&want, "%s\n", name)
	}
	for i := range names {
		x.write(t, names[len(names)-1-i], names[len(names)-1-i]+"\n")
	}
	x.write(t, "other-20261201T090000Z-2.jsonl", "not of this log\n")
	x.write(t, "traces-eval.jsonl", "not of this log\n")
	assert.Equal(t, want.String(), x.deliver(t))
}

func TestTail_Rotation(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n")
	b := x.batch(t)
	x.append(t, "traces.jsonl", "3\n")
	require.NoError(t, os.Rename(x.path("traces.jsonl"), x.path("traces-20261201T090000Z-1.jsonl")))
	x.write(t, "traces.jsonl", "4\n")
	assert.Equal(t, "3\n4\n", x.deliver(t))
	b.Delivered()
	x.Save()
	x.crash(t)
	x.append(t, "traces.jsonl", "5\n")
	assert.Equal(t, "5\n", x.deliver(t), "the segment has the place of the file that it was")
	assert.Empty(t, x.seenEvents(TailFileFound))
}

// Rotation under load: every line once, whatever moment it hits.
func TestTail_RotationUnderLoad(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 512 })
	const lines = 5000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range lines {
			assert.NoError(t, x.tryAppend("traces.jsonl", fmt.Sprintf("line %d\n", i)))
			if i%500 == 499 {
				assert.NoError(t, os.Rename(x.path("traces.jsonl"), x.path(fmt.Sprintf("traces-20261201T090000Z-%d.jsonl", i))))
			}
		}
	}()
	seen := map[string]int{}
	for line := range strings.Lines(x.deliverUntil(t, func(text string) bool { return strings.Count(text, "\n") >= lines })) {
		seen[line]++
	}
	<-done
	require.Len(t, seen, lines)
	for line, n := range seen {
		require.Equal(t, 1, n, line)
	}
}

func TestTail_Truncated(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n3\n")
	assert.Equal(t, "1\n2\n3\n", x.deliver(t))
	// What a crashed machine leaves: the same file, its end lost, within a line.
	require.NoError(t, os.Truncate(x.path("traces.jsonl"), 5))
	assert.Empty(t, x.deliver(t))
	events := x.seenEvents(TailTruncated)
	require.Len(t, events, 1)
	assert.Equal(t, int64(4), events[0].Offset)
	require.NoError(t, os.Truncate(x.path("traces.jsonl"), 4))
	x.append(t, "traces.jsonl", "4\n")
	assert.Equal(t, "4\n", x.deliver(t))
}

func TestTail_PlaceBeyondTheEnd(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n3\n")
	x.deliver(t)
	x.Save()
	require.NoError(t, os.Truncate(x.path("traces.jsonl"), 4))
	x.crash(t)
	assert.Empty(t, x.deliver(t))
	x.append(t, "traces.jsonl", "4\n")
	assert.Equal(t, "4\n", x.deliver(t))
}

func TestTail_EmptiedAndWrittenAnew(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n3\n")
	x.deliver(t)
	require.NoError(t, os.Truncate(x.path("traces.jsonl"), 0))
	x.append(t, "traces.jsonl", "one\n2\n3\n4\n")
	assert.Equal(t, "one\n2\n3\n4\n", x.deliver(t))
}

func TestTail_Replaced(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n")
	x.deliver(t)
	x.write(t, "new", "one\ntwo\n")
	require.NoError(t, os.Rename(x.path("new"), x.path("traces.jsonl")))
	assert.Equal(t, "one\ntwo\n", x.deliver(t))
}

// The same content under another inode, as after a copy to another volume, is the same file.
func TestTail_CopiedIntoPlace(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n")
	x.deliver(t)
	x.write(t, "new", "1\n2\n3\n")
	require.NoError(t, os.Rename(x.path("new"), x.path("traces.jsonl")))
	assert.Equal(t, "3\n", x.deliver(t))
}

// The first line is the same and what follows is not: nothing may be skipped.
func TestTail_RewrittenBehindTheFirstLine(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n")
	x.deliver(t)
	x.write(t, "traces.jsonl", "1\ntwo and more\n")
	assert.Equal(t, "1\ntwo and more\n", x.deliver(t))
	require.Len(t, x.seenEvents(TailRewritten), 1)
}

func TestTail_Vanished(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 2 })
	x.write(t, "traces.jsonl", "1\n2\n3\n")
	b := x.batch(t)
	require.NoError(t, os.Remove(x.path("traces.jsonl")))
	assert.Empty(t, x.deliver(t))
	b.Delivered()
	x.Save()
	x.deliver(t)
	events := x.seenEvents(TailVanished)
	require.Len(t, events, 1)
	assert.Equal(t, int64(4), events[0].Bytes)
	assert.Empty(t, x.Progress())
	x.write(t, "traces.jsonl", "1\n2\n3\n")
	assert.Equal(t, "2\n3\n", x.deliver(t), "it is back, and so is its place")
}

func TestTail_UnreadableIsToldOnce(t *testing.T) {
	x := newTailFixture(t, nil)
	require.NoError(t, os.Symlink("traces.jsonl", x.path("traces.jsonl"))) // a loop: ELOOP
	x.deliver(t)
	require.Len(t, x.seenEvents(TailUnreadable), 1)
	require.NoError(t, os.Remove(x.path("traces.jsonl")))
	x.write(t, "traces.jsonl", "1\n")
	assert.Equal(t, "1\n", x.deliver(t))
}

func TestTail_NoPlainFile(t *testing.T) {
	x := newTailFixture(t, nil)
	require.NoError(t, os.Mkdir(x.path("traces.jsonl"), 0o700))
	assert.Empty(t, x.deliver(t))
}

func TestTail_Batches(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 6; set.MaxLineBytes = 10 })
	x.write(t, "traces.jsonl", "1\n2\n3\n4\n"+"123456789\n"+"1234567890\n"+"5\n")
	var got []string
	for range 4 {
		b := x.batch(t)
		got = append(got, string(b.Data))
		b.Delivered()
	}
	assert.Equal(t, []string{"1\n2\n3\n", "4\n", "123456789\n", "5\n"}, got)
	events := x.seenEvents(TailLineTooLong)
	require.Len(t, events, 1)
	assert.Equal(t, TailEvent{Kind: TailLineTooLong, Path: x.path("traces.jsonl"), Offset: 18, Bytes: 11}, events[0])
	assert.Equal(t, int64(31), x.Progress()[0].Delivered)
}

// A line of 100 MB that grows slowly is neither kept in memory nor read anew at each look.
func TestTail_LongLineInBoundedMemory(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 1 << 20; set.MaxLineBytes = 2 << 20 })
	x.append(t, "traces.jsonl", "1\n")
	x.deliver(t)
	part := strings.Repeat("x", 10<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 10 {
		x.append(t, "traces.jsonl", part)
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := x.Next(ctx)
			require.Error(t, err)
			return x.files[fingerprintOf(t, x.path("traces.jsonl"))].lookFrom == int64(2+(i+1)*len(part))
		}, 10*time.Second, time.Millisecond)
	}
	x.append(t, "traces.jsonl", "\n2\n")
	assert.Equal(t, "2\n", x.deliver(t))
	require.Len(t, x.seenEvents(TailLineTooLong), 1)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*len(part)), "less than the line was allocated, all in all")
}

func fingerprintOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	fingerprint, err := tailFingerprint(f)
	require.NoError(t, err)
	return fingerprint
}

// Many files take turns: one with a long backlog does not keep the others waiting.
func TestTail_LogsTakeTurns(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) {
		set.Include[0] = filepath.Join(filepath.Dir(set.Include[0]), "*.jsonl")
		set.MaxBatchBytes = 4
	})
	x.write(t, "a.jsonl", strings.Repeat("aa\n", 100))
	x.write(t, "b.jsonl", "bb\n")
	first, second := x.batch(t), x.batch(t)
	assert.ElementsMatch(t, []string{"aa\n", "bb\n"}, []string{string(first.Data), string(second.Data)})
}

func TestTail_StartAtEnd(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) {
		set.Include[0] = filepath.Join(filepath.Dir(set.Include[0]), "*.jsonl")
		set.StartAtEnd = true
	})
	x.write(t, "a.jsonl", "1\n2\nto")
	assert.Empty(t, x.deliver(t))
	x.append(t, "a.jsonl", "rn\n")
	x.write(t, "b.jsonl", "b1\n")
	lines := slices.Sorted(strings.Lines(x.deliver(t)))
	assert.Equal(t, []string{"b1\n", "torn\n"}, lines)
	x.Save()
	x.append(t, "a.jsonl", "3\n")
	x.crash(t)
	assert.Equal(t, "3\n", x.deliver(t), "a place wins over start_at")
}

func TestTail_ReadAgain(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "first\n\x00\x00\x00\x00\x00\n")
	b := x.batch(t)
	x.write(t, "traces.jsonl", "first\nright\n")
	require.NoError(t, os.Rename(x.path("traces.jsonl"), x.path("traces-20261201T090000Z-1.jsonl")))
	x.write(t, "traces.jsonl", "next\n")
	assert.Equal(t, "next\n", x.deliver(t))
	data, err := b.ReadAgain(6, 12)
	require.NoError(t, err)
	assert.Equal(t, "right\n", string(data))
	x.write(t, "traces-20261201T090000Z-1.jsonl", "another\n")
	_, err = b.ReadAgain(6, 12)
	assert.Error(t, err)
}

// A line end that a network file system showed as zeros is found without further growth.
func TestTail_ZerosInsteadOfALineEnd(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "first\n\x00\x00\x00\x00\x00\x00")
	assert.Equal(t, "first\n", x.deliver(t))
	x.write(t, "traces.jsonl", "first\nright\n")
	assert.Equal(t, "right\n", string(x.batch(t).Data))
}

func TestTail_CaughtUpAndBacklog(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n2\n")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(x.path("traces.jsonl"), old, old))
	b := x.batch(t)
	assert.False(t, x.CaughtUp(time.Time{}, 0))
	p := x.Progress()
	require.Len(t, p, 1)
	assert.Equal(t, int64(4), p[0].Backlog)
	assert.Greater(t, p[0].Age, 59*time.Minute)
	b.Delivered()
	assert.True(t, x.CaughtUp(time.Time{}, 0))
	assert.False(t, x.CaughtUp(time.Time{}, time.Minute), "it grew just now")
	// That time has passed says nothing while no look has.
	x.lastGrowth = x.lastGrowth.Add(-2 * time.Minute)
	assert.True(t, x.CaughtUp(time.Time{}, time.Minute))
	assert.False(t, x.CaughtUp(x.lastLook.Add(-time.Second), time.Minute))
	assert.Zero(t, x.Progress()[0].Backlog)
	assert.Zero(t, x.Progress()[0].Age)
}

func TestTailFile_AgeInBoundedMemory(t *testing.T) {
	f := &tailFile{}
	start := time.Now()
	for i := range int64(10 * tailMostSeen) {
		f.grow(i+1, start.Add(time.Duration(i)*time.Second))
	}
	assert.LessOrEqual(t, len(f.seen), tailMostSeen)
	now := start.Add(10 * tailMostSeen * time.Second)
	assert.InDelta(t, 10*tailMostSeen, f.age(now).Seconds(), 2)
	f.done(f.handOut(f.size / 2))
	assert.InDelta(t, 5*tailMostSeen, f.age(now).Seconds(), 64)
}
