package doctor

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestViewerIsAnotherServer(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--viewer", "http://"+c.Health, "--timeout", "2s")
	requireFinding(t, r, "viewer-not-one", 21, "change: --viewer http://"+c.Health)
	nobody := harness.FreePorts(t, 1)[0]
	r = diagnose(t, "--endpoint", "http://"+c.GRPC, "--viewer", "http://"+nobody, "--timeout", "2s")
	requireFinding(t, r, "viewer-unreachable", 21, "nothing listens on "+nobody)
}

// What docs/api.md says that a viewer answers.
func TestViewerByItsContract(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	for _, tc := range []struct {
		name    string
		status  int
		run     map[string]any
		args    []string
		finding string
		says    string
	}{
		{name: "shows it", status: 200, run: map[string]any{"run_id": "RUN", "spans": 1, "state": "ready"}},
		{name: "has no such run", status: 404, run: map[string]any{"reason": "no_such_run", "error": "no such run"}, finding: "viewer-without-run", says: "other.jsonl"},
		{name: "waits for its file", status: 200, run: map[string]any{"run_id": "RUN", "spans": 0, "state": "waiting", "reason": "waiting for ./x.jsonl"}, finding: "viewer-without-run", says: "waiting for ./x.jsonl"},
		{name: "wants a token", status: 401, run: map[string]any{"reason": "no_token", "error": "no token"}, finding: "viewer-token", says: "--viewer-header"},
		{name: "has a token", status: 200, run: map[string]any{"run_id": "RUN", "spans": 1}, args: []string{"--viewer-header", "Authorization=Bearer x"}},
		{name: "does not know the host", status: 403, run: map[string]any{"reason": "host", "error": "host"}, finding: "viewer-host", says: "allowed_hosts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mux := http.NewServeMux()
			answer := func(w http.ResponseWriter, status int, body any) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				assert.NoError(t, json.NewEncoder(w).Encode(body))
			}
			mux.HandleFunc("GET /base/api/health", func(w http.ResponseWriter, _ *http.Request) {
				if tc.status == http.StatusForbidden { // which holds for every path
					answer(w, tc.status, tc.run)
					return
				}
				answer(w, 200, map[string]any{"status": "ok", "version": "0.1.0", "state": "ready", "runs": 1})
			})
			mux.HandleFunc("GET /base/api/run", func(w http.ResponseWriter, r *http.Request) {
				if tc.args != nil && r.Header.Get("Authorization") != "Bearer x" {
					answer(w, 401, map[string]any{"reason": "no_token"})
					return
				}
				run := maps.Clone(tc.run) // two doctors ask
				if run["run_id"] != nil {
					run["run_id"] = r.URL.Query().Get("run")
				}
				answer(w, tc.status, run)
			})
			mux.HandleFunc("GET /base/api/missing", func(w http.ResponseWriter, _ *http.Request) {
				answer(w, 200, map[string]any{"files": []any{map[string]any{"file": "other.jsonl", "bytes": 1}}})
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			r := diagnose(t, append(tc.args, "--endpoint", "http://"+c.GRPC, "--viewer", server.URL+"/base/", "--timeout", "1s")...)
			if tc.finding == "" {
				requireWell(t, r)
				require.Equal(t, "ok", r.states()["viewer"])
				return
			}
			requireFinding(t, r, tc.finding, 21, tc.says)
		})
	}
}
