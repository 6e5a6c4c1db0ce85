package page

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/e2e/harness"
)

// largeTrace is a trace of n spans: one root, steps of 100 spans below it, one error at the very end.
func largeTrace(t *testing.T, n int) string {
	t.Helper()
	zero := time.Now().Add(-time.Hour)
	var lines [][]byte
	step := 0
	for i := 0; i < n; i += 1000 {
		spans := make([]span, 0, 1000)
		for j := i; j < min(i+1000, n); j++ {
			s := span{trace: traceID(1), id: spanID(j + 1), name: "token", parent: spanID(step + 1), start: time.Duration(j) * 10 * time.Millisecond, took: 5 * time.Millisecond}
			switch {
			case j == 0:
				s.name, s.parent, s.took = "everything", "", time.Duration(n)*10*time.Millisecond
			case j%100 == 1:
				step = j
				s.name, s.parent, s.took = "step", spanID(1), time.Second
			case j == n-1:
				s.name, s.failed = "last", true
			}
			spans = append(spans, s)
		}
		lines = append(lines, otlp(t, sender{"large", "trainer", "trainer-0"}, zero, spans...))
	}
	return traceFile(t, lines...)
}

func TestTraceOf100000Spans(t *testing.T) {
	const n = 100_000
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", largeTrace(t, n), "--jaeger-query-url", "http://127.0.0.1:16686/")
	p := openTab(t, address, "/trace?run=large&id="+traceID(1))
	p.wait(`document.querySelector(".waterfall .row")`)
	p.waitText("100\u202f000 spans")
	assert.Equal(t, "http://127.0.0.1:16686/trace/"+traceID(1), eval[string](p, `document.querySelector(".trace-title a").href`))
	p.screenshot("trace-large")

	drawn := `document.querySelectorAll(".waterfall .row").length`
	// By the wheel, far and back: rows are there, and few of them.
	for _, where := range []string{"0.25", "0.9999", "0.5", "0"} {
		eval[float64](p, `(() => { const w = document.querySelector(".waterfall"); return w.scrollTop = w.scrollHeight * `+where+`; })()`)
		p.wait(`(() => { const w = document.querySelector(".waterfall").getBoundingClientRect();
			const row = document.elementFromPoint(w.x + 60, w.y + w.height / 2)?.closest(".row"); return row !== null; })()`)
		assert.Less(t, eval[int](p, drawn), 120)
	}

	// By the keyboard to the very end.
	p.do(chromedp.Focus(".waterfall"), chromedp.KeyEvent(kb.End))
	p.wait(`document.querySelector(".row.chosen .span-name")?.textContent === "last"`)
	assert.Equal(t, "100000", eval[string](p, `document.querySelector(".row.chosen").ariaRowIndex`))
	p.wait(`document.querySelector(".details .attributes")`)
	assert.Less(t, eval[int](p, drawn), 120)

	// The only error, from the start.
	p.do(chromedp.KeyEvent(kb.Home))
	p.wait(`document.querySelector(".row.chosen .span-name")?.textContent === "everything"`)
	p.click(`button[aria-label="Next error"]`)
	p.wait(`document.querySelector(".row.chosen .span-name")?.textContent === "last"`)

	// Closed, a thousand steps are left; the chosen span opens its own again.
	p.clickText(".tools button", "Close all")
	p.wait(`document.querySelector(".waterfall").ariaRowCount === "1"`)
	p.do(chromedp.Focus(".waterfall"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	p.wait(`document.querySelector(".waterfall").ariaRowCount === "1001"`)
	p.click(`button[aria-label="Next error"]`)
	p.wait(`document.querySelector(".row.chosen .span-name")?.textContent === "last"`)
	p.clickText(".tools button", "Open all")
	p.wait(`document.querySelector(".waterfall").ariaRowCount === "100000"`)

	// Zoomed to it and out again.
	p.clickText(".actions button", "Zoom to it")
	p.wait(`Number(new URLSearchParams(location.search).get("from")) > 0`)
	p.screenshot("trace-zoomed")
	p.do(chromedp.NavigateBack())
	p.wait(`new URLSearchParams(location.search).get("from") === null`)

	// Zoomed with the mouse, over the trace at a glance.
	box := eval[[]float64](p, `(() => { const b = document.querySelector(".overview").getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()`)
	p.do(chromedp.DragAndDropXY(box[0]+box[2]/4, box[1]+box[3]/2, box[0]+box[2]/2, box[1]+box[3]/2))
	p.wait(`Math.abs(Number(new URLSearchParams(location.search).get("from")) - 250e6) < 5e6`)
	p.wait(`Math.abs(Number(new URLSearchParams(location.search).get("to")) - 500e6) < 5e6`)
	p.clickText(".tools button", "Whole time")
	p.wait(`new URLSearchParams(location.search).get("from") === null`)

	p.fill(`input[name="find"]`, "step\r")
	p.wait(`document.querySelector(".row.chosen .span-name")?.textContent === "step"`)
	p.waitText("1\u202f000")
}

func TestRunOverTheMemoryLimit(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", largeTrace(t, 30_000), "--max-memory", "1MiB")
	p := openTab(t, address, "/run?run=large")
	p.waitText("This run is larger than the memory that the viewer has for it")
	p.wait(`document.querySelector(".traces tbody tr")`)
	p.screenshot("run-partial")
}
