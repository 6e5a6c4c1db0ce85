package page

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestTokenIsAskedFor(t *testing.T) {
	config, err := filepath.Abs("testdata/token.yaml")
	require.NoError(t, err)
	collector := startCollector(t, config)
	send(t, collector.HTTP, otlp(t, sender{"secret-run", "trainer", "trainer-0"}, time.Now(), span{trace: traceID(1), id: spanID(1), name: "a", took: time.Second}))
	p := openTab(t, collector.Viewer, "/run?run=secret-run")
	p.expectFailures(true) // 401
	p.waitText("This server asks for a token.")
	p.screenshot("token")
	assert.NotContains(t, p.look(), "trainer")

	p.fill(`input[name="token"]`, "wrong-token\r")
	p.waitText("The server did not take this token.")
	p.fill(`input[name="token"]`, "right-token\r")
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 1 && document.querySelector(".token") === null`)
	p.expectFailures(false)
	assert.Equal(t, "/run?run=secret-run", eval[string](p, "location.pathname + location.search"))

	// It lasts as long as the tab, and is nowhere else.
	p.do(chromedp.Reload())
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 1`)
	assert.Equal(t, 0, eval[int](p, "localStorage.length + document.cookie.length"))
	assert.NotContains(t, p.sent(), "token")
}

func TestServerRestarted(t *testing.T) {
	zero := time.Now()
	one := otlp(t, sender{"again", "trainer", "trainer-0"}, zero, span{trace: traceID(1), id: spanID(1), name: "a", took: time.Second})
	path := traceFile(t, one)
	address := harness.FreePorts(t, 1)[0]
	server := startView(t, address, "--trace-jsonl", path)
	p := openTab(t, address, "/run?run=again")
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 1`)

	// "2 s ago" goes on while answers are unchanged. The next change is that the run ends to be live,
	// half a minute later.
	since := `document.querySelector(".run-side time").textContent`
	p.wait(`/^\d+ s ago$/.test(` + since + `)`)
	seen := eval[string](p, since)
	harness.WaitFor(t, 10*time.Second, "the time since the last span to go on", func() error {
		if eval[string](p, since) == seen {
			return assert.AnError
		}
		return nil
	})

	p.expectFailures(true) // nobody answers
	server.Kill()
	p.waitText("The server does not answer.")
	assert.Equal(t, "1", spansOf(p), "the last answer went out of sight")
	p.screenshot("server-gone")

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.Write(otlp(t, sender{"again", "trainer", "trainer-0"}, zero, span{trace: traceID(2), id: spanID(2), name: "b", took: time.Second}))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	startView(t, address, "--trace-jsonl", path)
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 2 && document.querySelector(".trouble") === null`)
	assert.Equal(t, "2", spansOf(p))
}

func TestFileThatIsNotThereYet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "later", "traces.jsonl")
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", path)
	p := openTab(t, address, "/missing")
	for _, view := range []string{
		"/missing", "/missing?run=first", "/run?run=first", "/run?run=first&service=trainer",
		"/trace?run=first&id=" + traceID(1), "/trace?run=first&id=" + traceID(1) + "&span=" + spanID(1), "/",
	} {
		p.do(chromedp.Navigate(p.origin + view))
		p.waitText("waiting for")
	}
	p.waitText("OTEL_EXPORTER_OTLP_ENDPOINT")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, otlp(t, sender{"first", "trainer", "trainer-0"}, time.Now(), span{trace: traceID(1), id: spanID(1), name: "a", took: time.Second}), 0o644))
	p.wait(`document.querySelector(".runs .name a")?.textContent === "first"`)
}

// TestBusyServerBelowAPrefix puts a proxy before the server, as notebooks and clusters do, which also
// says `busy` for a while.
func TestBusyServerBelowAPrefix(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", threeRuns(t))
	var busy atomic.Bool
	target, err := url.Parse("http://" + address)
	require.NoError(t, err)
	forward := http.StripPrefix("/user/me/proxy/18318", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // else its name belongs into allowed_hosts
	}})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() && strings.Contains(r.URL.Path, "/api/") {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error": "too many requests at once", "reason": "busy"}`))
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)

	p := openTab(t, strings.TrimPrefix(proxy.URL, "http://"), "/user/me/proxy/18318/")
	p.clickText(".runs .name a", "many")
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 100`)
	assert.Equal(t, "/user/me/proxy/18318/run", eval[string](p, "location.pathname"))
	p.expectFailures(true) // 503
	busy.Store(true)
	p.waitText("The server is busy")
	assert.Equal(t, 100, eval[int](p, `document.querySelectorAll(".traces tbody tr").length`))
	busy.Store(false)
	p.wait(`document.querySelector(".trouble") === null`)
}

func TestHiddenTabAsksForNothing(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", threeRuns(t))
	p := openTab(t, address, "/run?run=many")
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 100`)
	hide := func(hidden string) {
		eval[bool](p, `(Object.defineProperty(document, "hidden", {value: `+hidden+`, configurable: true}), document.dispatchEvent(new Event("visibilitychange")))`)
	}
	hide("true")
	time.Sleep(1500 * time.Millisecond) // what was under way
	before := p.requestCount("/api/")
	time.Sleep(2500 * time.Millisecond)
	assert.Equal(t, before, p.requestCount("/api/"), "a hidden tab asked")
	hide("false")
	harness.WaitFor(t, within, "the tab to ask again", func() error {
		if p.requestCount("/api/") == before {
			return assert.AnError
		}
		return nil
	})
}
