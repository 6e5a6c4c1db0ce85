package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestTheWatchSeesWhatMustNotBe shows that a page that does what ours must never do fails its test.
func TestTheWatchSeesWhatMustNotBe(t *testing.T) {
	const bad = `<!doctype html><script>window.inline = 1</script><script src=bad.js></script><p id=x style="color:red">`
	const script = `console.error("said an error"); document.write("<img src=http://127.0.0.2:9/foreign.png>");
		setTimeout(() => { throw new Error("thrown") }, 1); setTimeout(() => alert("a dialog"), 20);`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src *")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(script))
			return
		}
		_, _ = w.Write([]byte(bad))
	}))
	t.Cleanup(server.Close)
	p := openTab(t, strings.TrimPrefix(server.URL, "http://"), "/")
	for _, want := range []string{
		"said an error", "thrown", "dialog: a dialog", "request to another origin: http://127.0.0.2:9/foreign.png",
		"inline script", "inline style",
	} {
		harness.WaitFor(t, within, "the watch to note "+want, func() error {
			if !strings.Contains(strings.Join(p.noted(), "\n"), want) {
				return assert.AnError
			}
			return nil
		})
	}
	p.forgive()
}
