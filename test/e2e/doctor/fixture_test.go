package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// report is what `runspan doctor --json` prints.
type report struct {
	OK       bool   `json:"ok"`
	ExitCode int    `json:"exit_code"`
	RunID    string `json:"run_id"`
	TraceID  string `json:"trace_id"`
	SpanID   string `json:"span_id"`
	Service  string `json:"service"`
	Endpoint string `json:"endpoint"`
	Protocol string `json:"protocol"`
	Places   []struct {
		Place   string `json:"place"`
		State   string `json:"state"`
		Seen    string `json:"seen"`
		Finding string `json:"finding"`
		Change  string `json:"change"`
	} `json:"places"`
}

// findings returns the names of what was found to be wrong.
func (r *report) findings() []string {
	var names []string
	for _, p := range r.Places {
		if p.Finding != "" {
			names = append(names, p.Finding)
		}
	}
	return names
}

// states returns the state of every place.
func (r *report) states() map[string]string {
	states := map[string]string{}
	for _, p := range r.Places {
		states[p.Place] = p.State
	}
	return states
}

// result is how a doctor ended.
type result struct {
	report
	stdout, stderr string
	code           int
	took           time.Duration
}

// command returns `runspan doctor` with these arguments, without what the developer's shell exports.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, harness.CommandLine(t), append([]string{"doctor"}, args...)...)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "OTEL_") && !strings.HasPrefix(name, "KUBERNETES_") && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	return cmd
}

// run runs a doctor to its end; as names another program that runs it (nsenter). It may run in a goroutine.
func run(t *testing.T, cmd *exec.Cmd, as ...string) result {
	t.Helper()
	if len(as) > 0 {
		through := exec.Command(as[0])
		cmd.Args = slices.Concat(as, []string{cmd.Path}, cmd.Args[1:])
		cmd.Path, cmd.Err = through.Path, through.Err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	r := result{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(began)}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else if err != nil {
		t.Errorf("%v: %s", err, r.stderr)
	}
	return r
}

// diagnose runs a doctor twice, for its text and for its JSON, and requires that both say the same.
func diagnose(t *testing.T, args ...string) result {
	t.Helper()
	return diagnoseIn(t, nil, nil, args...)
}

// diagnoseIn is diagnose with more environment, run by another program.
func diagnoseIn(t *testing.T, env, as []string, args ...string) result {
	t.Helper()
	texts := make(chan result)
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, env...)
	go func() { texts <- run(t, cmd, as...) }()
	inJSON := command(t, append(slices.Clone(args), "--json")...)
	inJSON.Env = append(inJSON.Env, env...)
	r := run(t, inJSON, as...)
	text := <-texts
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &r.report), "%s%s", r.stdout, r.stderr)
	require.Equal(t, r.code, r.ExitCode)
	require.Equal(t, r.code, text.code, "%s%s", text.stdout, text.stderr)
	require.Equal(t, r.code == 0, r.OK)
	require.Equal(t, len(r.findings()), strings.Count(text.stdout, "change: "), "one change for each finding:\n%s", text.stdout)
	for _, p := range r.Places {
		require.NotEmpty(t, p.Seen, p.Place)
		require.Equal(t, p.Finding != "", p.State == "wrong", p.Place)
		require.Equal(t, p.Finding != "", p.Change != "", p.Place)
		require.NotRegexp(t, `\{[a-z]+\}|""`, p.Change, "every word of the remedy has its value")
	}
	r.stdout = text.stdout
	return r
}

// requireFinding requires that a doctor found one thing, ended with its code, and named in its text
// what these texts say.
func requireFinding(t *testing.T, r result, finding string, code int, says ...string) {
	t.Helper()
	require.Equal(t, []string{finding}, r.findings(), "%s%s", r.stdout, r.stderr)
	require.Equal(t, code, r.code, "%s", r.stdout)
	for _, text := range says {
		require.Contains(t, r.stdout, text)
	}
}

// requireWell requires that a doctor found nothing.
func requireWell(t *testing.T, r result) {
	t.Helper()
	require.Empty(t, r.findings(), r.stdout)
	require.Zero(t, r.code, "%s%s", r.stdout, r.stderr)
}
