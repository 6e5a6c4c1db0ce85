package catalogue

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// endWithin is how long a process may take to end.
const endWithin = 30 * time.Second

func newRun(t *testing.T, set simulation.Settings) *simulation.Run {
	t.Helper()
	run, err := simulation.New(set)
	require.NoError(t, err)
	return run
}

// keyOf is how the harness names a span.
func keyOf(sp simulation.Span) string { return sp.TraceID.String() + "/" + sp.SpanID.String() }

// A simulated run is in the file as it says that it is, and so do the command line's tools.
func TestTheFileHoldsWhatARunSends(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	run := newRun(t, simulation.Settings{Seed: 1, DriverKilled: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, run.Send(ctx, simulation.Endpoints{GRPC: c.GRPC, HTTP: c.HTTP}, false))

	want := map[string]simulation.Span{}
	for _, sp := range run.Spans() {
		want[keyOf(sp)] = sp
	}
	copies, unassigned := map[string]int{}, 0
	for _, got := range harness.ReadTraceFile(t, c.TraceFile()) {
		sp, sent := want[got.Key()]
		require.True(t, sent, "%+v", got)
		copies[got.Key()]++
		assert.Equal(t, sp.Name, got.Name)
		assert.Equal(t, sp.Process.Service, got.Service)
		if got.Run != run.ID {
			require.Equal(t, runid.Unassigned, got.Run)
			require.False(t, sp.Process.KnowsRun)
			unassigned++
		}
	}
	for key, sp := range want {
		assert.Equal(t, sp.Copies, copies[key], key)
	}

	truth := run.Truth()
	out, err := exec.CommandContext(ctx, harness.CommandLine(t), "runs", "--json", c.Data).Output()
	require.NoError(t, err)
	var told struct {
		Runs []struct {
			Run           string
			Spans, Errors int
			Services      map[string]int
		}
	}
	require.NoError(t, json.Unmarshal(out, &told))
	require.Len(t, told.Runs, 2)
	spans, errs := 0, 0
	for _, r := range told.Runs {
		require.Contains(t, []string{run.ID, runid.Unassigned}, r.Run)
		spans += r.Spans
		errs += r.Errors
		if r.Run != run.ID {
			assert.Equal(t, map[string]int{simulation.ServiceEngine: unassigned}, r.Services)
		}
	}
	sent := truth.Spans
	for _, n := range truth.NoRun {
		sent += n
	}
	sentErrs := truth.Errors
	for _, sp := range truth.Repeated {
		sent += sp.Copies - 1
		if sp.Error {
			sentErrs += sp.Copies - 1
		}
	}
	assert.Equal(t, sent, spans)
	assert.Equal(t, sentErrs, errs)
}
