package view

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// post sends a line to a collector and requires its OK.
func post(t *testing.T, c *harness.Collector, body string) {
	t.Helper()
	resp, err := http.Post("http://"+c.HTTP+"/v1/traces", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// The collector of `make run` shows what it was sent, and after a kill all of it again.
func TestCollectorShowsItsRuns(t *testing.T) {
	set := harness.CollectorSettings{Data: filepath.Join(t.TempDir(), "data")}
	c := harness.StartCollector(t, set)
	v := viewer(c.Viewer)
	status, body := v.get(t, "/")
	require.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, "<html")
	status, body = v.get(t, "/api/runs")
	require.Equal(t, http.StatusOK, status, body)
	assert.Contains(t, body, `"runs":[]`)
	post(t, c, line("a", 1, 2, 3))
	v.waitSpans(t, "a", 3)
	post(t, c, line("a", 4))
	v.waitSpans(t, "a", 4)
	c.Kill()

	c = harness.StartCollector(t, set)
	v = viewer(c.Viewer)
	v.waitSpans(t, "a", 4)
	post(t, c, line("a", 5))
	v.waitSpans(t, "a", 5)
	assert.Equal(t, 0, c.Stop(patience))
}

// configWith returns configs/local.yaml with some lines replaced.
func configWith(t *testing.T, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "configs", "local.yaml"))
	require.NoError(t, err)
	config := string(text)
	for i := 0; i+1 < len(pairs); i += 2 {
		require.Contains(t, config, pairs[i])
		config = strings.Replace(config, pairs[i], pairs[i+1], 1)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, config)
	return file
}

// The API wants the token of the collector's own authentication; the page loads without and asks for it.
func TestTokenOfTheCollector(t *testing.T) {
	config := configWith(t,
		"  run_viewer:\n", "  bearertokenauth:\n    token: secret\n  run_viewer:\n    auth:\n      authenticator: bearertokenauth\n",
		"extensions: [health_check, run_viewer]", "extensions: [health_check, bearertokenauth, run_viewer]")
	c := harness.StartCollector(t, harness.CollectorSettings{Config: config})
	v := viewer(c.Viewer)
	post(t, c, line("a", 1))
	for _, path := range []string{"/api/runs", "/api/run?run=a", "/api/nothing"} {
		status, body := v.get(t, path)
		if path == "/api/nothing" {
			assert.Equal(t, http.StatusNotFound, status)
			continue
		}
		assert.Equal(t, http.StatusUnauthorized, status, path)
		assert.Contains(t, body, `"reason":"no_token"`)
		status, _ = v.get(t, path, "Authorization", "Bearer wrong")
		assert.Equal(t, http.StatusUnauthorized, status, path)
	}
	for _, path := range []string{"/", "/run?run=a", "/api/health"} {
		status, _ := v.get(t, path)
		assert.Equal(t, http.StatusOK, status, path)
	}
	harness.WaitFor(t, patience, "the run, with the token", func() error {
		status, body := v.get(t, "/api/runs", "Authorization", "Bearer secret")
		require.Equal(t, http.StatusOK, status, body)
		if !strings.Contains(body, `"run_id":"a"`) {
			return errorText(body)
		}
		return nil
	})
}

// An address that is taken is said at the start, and not found out about in front of the page.
func TestTakenAddressIsAnErrorAtTheStart(t *testing.T) {
	first := harness.StartCollector(t, harness.CollectorSettings{})
	config := configWith(t, "${env:RUNSPAN_VIEWER:-127.0.0.1:18318}", first.Viewer)
	c := harness.LaunchCollector(t, harness.CollectorSettings{Config: config})
	assert.NotEqual(t, 0, c.Wait(patience))
	assert.Contains(t, c.Log(), "run_viewer")
	assert.Contains(t, c.Log(), first.Viewer)
	assert.Contains(t, c.Log(), "endpoint")
}

// Clients that ask for everything at once get answers, and keep no span from being written.
func TestGreedyReadersDoNotStopTheWriter(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	v := viewer(c.Viewer)
	var ids []int
	for id := range 2000 {
		ids = append(ids, id+1)
	}
	post(t, c, line("a", ids...))
	v.waitSpans(t, "a", 2000)
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var answers, others atomic.Int64
	for range 32 {
		asking.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				resp, err := http.Get("http://" + c.Viewer + []string{
					"/api/traces?run=a&limit=1000", "/api/traces?run=a&q=" + fmt.Sprint("nothing", i), "/api/stages?run=a",
				}[i%3])
				if err != nil {
					others.Add(1)
					continue
				}
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusServiceUnavailable {
					answers.Add(1)
				} else {
					others.Add(1)
				}
			}
		})
	}
	for i := range 100 {
		post(t, c, line("a", 3000+i))
	}
	close(stop)
	asking.Wait()
	assert.Positive(t, answers.Load())
	assert.Zero(t, others.Load())
	v.waitSpans(t, "a", 2100)
}
