package catalogue

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// kills is 4, and 10 with RUNSPAN_E2E=full.
func kills() int {
	if os.Getenv("RUNSPAN_E2E") == "full" {
		return 10
	}
	return 4
}

// load sends runs, one after the other in several lanes, each as fast as it is taken.
type load struct {
	cancel context.CancelFunc
	stop   chan struct{}
	lanes  sync.WaitGroup

	mu   sync.Mutex
	runs []*simulation.Run // begun, in that order
	over int
	errs []error
}

const lanes = 4

func startLoad(t *testing.T, to simulation.Endpoints) *load {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	l := &load{cancel: cancel, stop: make(chan struct{})}
	for lane := range lanes {
		l.lanes.Go(func() {
			for seed := lane; ctx.Err() == nil; seed += lanes {
				select {
				case <-l.stop:
					return
				default:
				}
				l.send(ctx, to, uint64(seed))
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		l.lanes.Wait()
	})
	return l
}

// send sends one run. No two are alike: their seeds and their starts differ.
func (l *load) send(ctx context.Context, to simulation.Endpoints, seed uint64) {
	run, err := simulation.New(simulation.Settings{
		Seed: seed, Start: time.Unix(1_800_000_000+60*int64(seed), 0).UTC(),
		Steps: 2, Groups: 4, Siblings: 3, Workers: 3, DriverKilled: seed%5 == 4,
	})
	if err == nil {
		l.mu.Lock()
		l.runs = append(l.runs, run)
		l.mu.Unlock()
		err = run.Send(ctx, to, false)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over++
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

func (l *load) sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// some returns one of the runs that were begun, nil where there is none.
func (l *load) some() *simulation.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) == 0 {
		return nil
	}
	return l.runs[rand.IntN(len(l.runs))]
}

// end has the lanes send what they have begun, and returns all runs.
func (l *load) end(t *testing.T) []*simulation.Run {
	t.Helper()
	close(l.stop)
	l.lanes.Wait()
	require.NoError(t, errors.Join(l.errs...))
	return l.runs
}

// watch asks a viewer all the time, as pages do that somebody has open. It must answer, and never tell
// of a run that nobody sent. A viewer that is not there, in a collector that is killed, is no fault.
func watch(t *testing.T, a *api, l *load, mayBeGone bool) (stop func() int) {
	t.Helper()
	done := make(chan struct{})
	var watching sync.WaitGroup
	answers := 0
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			query := "/api/runs"
			if run := l.some(); run != nil && answers%2 == 1 {
				query = "/api/run?run=" + url.QueryEscape(run.ID)
			}
			_, err := a.body(query)
			bad, isAnswer := errors.AsType[*badAnswerError](err)
			switch {
			case err == nil:
				answers++
			case isAnswer && bad.code == 404 && answers%2 == 1:
				answers++ // not a line of it is there yet
			case isAnswer || !mayBeGone:
				assert.NoError(t, err)
			}
		}
	})
	var once sync.Once
	stop = func() int {
		once.Do(func() { close(done) })
		watching.Wait()
		return answers
	}
	t.Cleanup(func() { stop() })
	return stop
}

// The counts of the catalogue are those of the files, and the opened runs are what was sent, after the
// collector was killed again and again at full speed while the files rotated. One viewer lives in the
// collector and dies with it, one beside it goes on, and one is killed and goes on from its cache.
func TestKill(t *testing.T) {
	for name, layout := range map[string]struct{ path, files string }{
		"one file":       {"traces.jsonl", "traces.jsonl"},
		"one file a run": {"{run.id}/traces.jsonl", "*/traces.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := filepath.Join(dir, layout.files)
			c := newCollector(t, filepath.Join(dir, layout.path), files)
			at := harness.FreePorts(t, 2)
			cache := t.TempDir()
			startView(t, files, t.TempDir(), at[0])
			again := startView(t, files, cache, at[1])
			inside, beside, restarted := newAPI(t, c.viewer), newAPI(t, at[0]), newAPI(t, at[1])

			l := startLoad(t, c.Endpoints)
			stopInside, stopBeside := watch(t, inside, l, true), watch(t, beside, l, false)
			for range kills() {
				col := c.start(t)
				before := l.sent()
				require.Eventually(t, func() bool { return l.sent() >= before+2 }, time.Minute, 5*time.Millisecond,
					"no run is sent: %s", col.Log())
				time.Sleep(rand.N(300 * time.Millisecond))
				col.Kill()
				again.Kill()
				again = startView(t, files, cache, at[1])
			}
			last := c.start(t)
			runs := l.end(t)
			answers := []int{stopInside(), stopBeside()}

			f := readFiles(t, dir, runs)
			spans, twice, fileCount := 0, 0, 0
			for _, run := range runs {
				for _, sp := range run.Spans() {
					copies := f.copies[keyOf(sp)]
					require.NotZero(t, copies, "%+v was acknowledged and is in no file", sp)
					spans++
					if copies.named+copies.unnamed > sp.Copies {
						twice++
					}
				}
			}
			require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if filepath.Ext(path) == ".jsonl" {
					fileCount++
				}
				return err
			}))
			t.Logf("%d runs, %d spans, %d of them there more often than sent, in %d files; %v answers meanwhile",
				len(runs), spans, twice, fileCount, answers)
			for name, a := range map[string]*api{"inside": inside, "beside": beside, "restarted": restarted} {
				harness.WaitFor(t, 30*time.Second, "the catalogue "+name, func() error { return f.checkCatalogue(a) })
				for _, run := range runs {
					require.NoError(t, f.checkRun(a, run), "%s: run %s", name, run.ID)
				}
				requireNoRun(t, a, runid.Unassigned)
			}
			require.Zero(t, last.Stop(endWithin))
		})
	}
}

// requireNoRun says that the viewer knows no such run.
func requireNoRun(t *testing.T, a *api, run string) {
	t.Helper()
	_, err := a.body("/api/run?run=" + url.QueryEscape(run))
	bad, ok := errors.AsType[*badAnswerError](err)
	require.True(t, ok, "run %s: %v", run, err)
	require.Equal(t, 404, bad.code)
	require.Contains(t, string(bad.body), "no_such_run")
}
