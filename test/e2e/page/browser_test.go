package page

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// within is how long a view may take to show something; it is there in well under a second.
const within = 30 * time.Second

var shared struct {
	once    sync.Once
	browser context.Context // of the one browser that all tests use, each in a profile of its own
	err     error
	end     []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(shared.end) {
		end()
	}
	os.Exit(code)
}

func startBrowser(program string) {
	profile, err := os.MkdirTemp("", "runspan-chromium-")
	if err != nil {
		shared.err = err
		return
	}
	shared.end = append(shared.end, func() { removeAll(profile) })
	allocator, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), // containers have 64 MB of it
	)
	shared.end = append(shared.end, cancel)
	browser, cancel := chromedp.NewContext(allocator)
	shared.end = append(shared.end, cancel)
	shared.browser, shared.err = browser, chromedp.Do(browser)
}

// removeAll removes a folder in which a browser that is ending may still write for a moment.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tab is one tab in a profile of its own. Whatever the page must never do is noted and fails the test
// at its end: an exception, an error in the console, a breach of the Content-Security-Policy, a dialog,
// a request to another origin.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu           sync.Mutex
	failuresFine bool // answers such as 401 are expected: the browser writes them to its console
	problems     []string
	requests     []string
}

// openTab opens a tab at a path of the server at host:port.
func openTab(t *testing.T, address, path string) *tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		harness.Missing(t, "chromium", "sudo scripts/debian.sh chromium")
	}
	shared.once.Do(func() { startBrowser(program) })
	require.NoError(t, shared.err)
	ctx, cancel := chromedp.NewContext(shared.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, origin: "http://" + address}
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	t.Cleanup(p.requireNoProblems)
	p.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(p.origin+path))
	return p
}

// listen notes what must not be.
func (p *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problem("exception: %s %s", e.ExceptionDetails.Text, description(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			p.problem("console.%s: %s %s", e.Type, arg.Value, arg.Description)
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceNetwork && p.fine() {
			return
		}
		p.problem("browser's log: %s %s: %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *cdppage.EventJavascriptDialogOpening:
		p.problem("dialog: %s", e.Message)
	case *network.EventRequestWillBeSent:
		p.mu.Lock()
		p.requests = append(p.requests, e.Request.URL)
		p.mu.Unlock()
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme+"://"+u.Host != p.origin {
			p.problem("request to another origin: %s", e.Request.URL)
		}
	}
}

func description(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}

func (p *tab) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// expectFailures lets the browser write answers that are failures to its console, from now on.
func (p *tab) expectFailures(fine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failuresFine = fine
}

func (p *tab) fine() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failuresFine
}

// noted are the problems so far.
func (p *tab) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// forgive forgets the problems so far.
func (p *tab) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}

func (p *tab) requireNoProblems() {
	if problems := p.noted(); len(problems) > 0 {
		p.t.Errorf("the page did what it must not:\n%s", strings.Join(problems, "\n"))
	}
}

// requestCount is how many requests the tab has sent so far to paths with a prefix.
func (p *tab) requestCount(prefix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, request := range p.requests {
		if strings.HasPrefix(request, p.origin+prefix) {
			n++
		}
	}
	return n
}

// sent are the addresses of all requests so far, one a line.
func (p *tab) sent() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.requests, "\n")
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.look())
	}
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// look is what the page shows, for the message of a failure.
func (p *tab) look() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 3000)`))
	if err != nil {
		return err.Error()
	}
	return text
}

// wait returns when an expression in the page is true.
func (p *tab) wait(expression string) {
	p.t.Helper()
	deadline := time.Now().Add(within)
	for !eval[bool](p, "Boolean("+expression+")") {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited %s for: %s\n%s", within, expression, p.look())
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// waitText returns when the page shows a text.
func (p *tab) waitText(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// click presses the mouse on the first element of a CSS selector, once it is there.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.NodeVisible))
}

// clickText presses the mouse on the first element of a CSS selector that has a text.
func (p *tab) clickText(selector, text string) {
	p.t.Helper()
	found := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.textContent.trim() === %q)`, selector, text)
	p.wait(found)
	box := eval[[]float64](p, fmt.Sprintf(`(() => { const e = %s; e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`, found))
	p.do(chromedp.MouseClickXY(box[0], box[1]))
}

// fill types a text into an input, in place of what is there.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).focus(), document.querySelector(%[1]q).select?.(), true)`, selector))
	if text == "" {
		p.do(chromedp.KeyEvent("\b"))
		return
	}
	p.do(chromedp.KeyEvent(text))
}

// texts are the texts of all elements of a CSS selector.
func (p *tab) texts(selector string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.textContent)`, selector))
}

// query is a parameter of the address bar.
func (p *tab) query(name string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`new URLSearchParams(location.search).get(%q) ?? ""`, name))
}

// scheme makes the page light or dark.
func (p *tab) scheme(name string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	require.NoError(p.t, err)
}

// screenshot writes what the tab shows, light and dark, to the folder of screenshots.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	dir := os.Getenv("RUNSPAN_SCREENSHOTS")
	if dir == "" {
		dir = filepath.Join(harness.Cache(p.t), "screenshots")
	}
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	for _, scheme := range []string{"dark", "light"} {
		p.scheme(scheme)
		ctx, cancel := context.WithTimeout(p.ctx, within)
		png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		cancel()
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), png, 0o644))
	}
}
