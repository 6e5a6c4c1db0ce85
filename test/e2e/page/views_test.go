package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/e2e/harness"
)

// threeRuns is a file of three runs; the run `many` has 150 traces of two services.
func threeRuns(t *testing.T) string {
	t.Helper()
	zero := time.Now().Add(-2 * time.Hour)
	lines := [][]byte{
		otlp(t, sender{"alpha", "trainer", "trainer-0"}, zero, span{trace: traceID(1), id: spanID(1), name: "a", took: time.Second, failed: true}),
		otlp(t, sender{"beta/with slash", "engine", "engine-0"}, zero.Add(time.Minute), span{trace: traceID(2), id: spanID(2), name: "b", took: time.Second}),
	}
	for i := range 150 {
		service, name := "trainer", "rollout"
		if i%3 == 0 {
			service, name = "judger", "judge"
		}
		lines = append(lines, otlp(t, sender{"many", service, service + "-0"}, zero.Add(time.Hour), span{
			trace: traceID(1000 + i), id: spanID(1000 + i), name: name, failed: i%50 == 7,
			start: time.Duration(i) * time.Second, took: time.Duration(i+1) * 10 * time.Millisecond,
			attributes: []pair{{"task", fmt.Sprintf("task-%03d-of-150", i)}},
		}))
	}
	return traceFile(t, lines...)
}

func TestRunsFilterAndSort(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", threeRuns(t))
	p := openTab(t, address, "/")
	names := `[...document.querySelectorAll(".runs .name a")].map((a) => a.textContent).join()`
	p.wait(names + ` === "many,beta/with slash,alpha"`)

	p.clickText(".runs .sort", "Run▽")
	p.wait(names + ` === "alpha,beta/with slash,many"`)
	assert.Equal(t, "run_id", p.query("sort"))
	p.clickText(".runs .sort", "Run▲")
	p.wait(names + ` === "many,beta/with slash,alpha"`)
	assert.Equal(t, "-run_id", p.query("sort"))
	p.do(chromedp.NavigateBack())
	p.wait(names + ` === "alpha,beta/with slash,many"`)
	assert.Equal(t, "ascending", eval[string](p, `document.querySelector(".runs th").ariaSort`))

	p.fill(`input[name="q"]`, "beta/")
	p.wait(names + ` === "beta/with slash"`)
	p.wait(`location.search === "?sort=run_id&q=beta%2F"`)
	p.do(chromedp.Reload())
	p.wait(names + ` === "beta/with slash"`)
	assert.Equal(t, "beta/", eval[string](p, `document.querySelector('input[name="q"]').value`))
	p.fill(`input[name="q"]`, "no such run")
	p.waitText("No run matches.")
	p.clickText("button", "Clear")
	p.wait(names + ` === "alpha,beta/with slash,many"`)
	p.clickText(".runs .tag", "judger")
	p.wait(names + ` === "many"`)
	p.screenshot("runs-filtered")

	// A run id with a slash, and the way back and forward.
	p.do(chromedp.NavigateBack())
	p.clickText(".runs .name a", "beta/with slash")
	p.wait(`document.querySelector("h1").textContent === "beta/with slash" && document.querySelector(".traces tbody tr")`)
	p.do(chromedp.NavigateBack())
	p.wait(names + ` === "alpha,beta/with slash,many"`)
	p.do(chromedp.NavigateForward())
	p.wait(`document.querySelector("h1").textContent === "beta/with slash"`)
}

func TestTracesFilterSortAndPage(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", threeRuns(t), "--run-id", "many")
	p := openTab(t, address, "/run?run=many")
	rows := `document.querySelectorAll(".traces tbody tr").length`
	first := `document.querySelector(".traces .duration .figure").textContent`
	p.wait(rows + ` === 100`)
	p.wait(`document.querySelector(".pages").textContent.includes("100 of 150 traces")`)
	p.clickText(".pages button", "Next")
	p.wait(rows + ` === 50`)
	p.clickText(".pages button", "Previous")
	p.wait(rows + ` === 100`)
	p.do(chromedp.NavigateBack())
	p.wait(rows + ` === 50`)
	p.clickText(".pages button", "First")
	p.wait(rows + ` === 100`)

	p.clickText(".traces .sort", "Duration▽")
	p.wait(first + ` === "1.5 s"`)
	p.clickText(".traces .sort", "Duration▼")
	p.wait(first + ` === "10 ms"`)
	assert.Equal(t, "duration", p.query("sort"))

	p.click(`input[name="errors"]`)
	p.wait(rows + ` === 3`)
	p.fill(`input[name="min_ms"]`, "500")
	p.wait(rows + ` === 2`)
	p.fill(`input[name="max_ms"]`, "1000")
	p.wait(rows + ` === 1`)
	p.wait(`location.search === "?run=many&sort=duration&errors=true&min_ms=500&max_ms=1000"`)
	p.do(chromedp.Reload())
	p.wait(rows + ` === 1`)
	p.screenshot("run-filtered")
	p.clickText("#traces .filters button", "Clear")
	p.wait(rows + ` === 100`)

	p.fill(`#traces input[name="q"]`, "TASK-042-of")
	p.wait(rows + ` === 1`)
	p.fill(`#traces input[name="q"]`, "")
	p.wait(rows + ` === 100`)

	// A service narrows all of the view; its stages say how long they take.
	p.clickText(".run-side .plain-button", "judger")
	p.wait(rows + ` === 50`)
	p.wait(`document.querySelectorAll(".stages tbody tr").length === 1`)
	assert.Equal(t, "judger", p.query("service"))
	assert.Equal(t, "50", spansOf(p))
	assert.Equal(t, []string{"judge", "50", "1", "730 ms", "1.42 s", "1.48 s", "1.48 s", "37.3 s"}, stageRow(p))
	p.do(chromedp.NavigateBack())
	p.wait(`document.querySelectorAll(".stages tbody tr").length === 2`)
}

// stageRow is the text of the cells of the first stage, but that of the picture.
func stageRow(p *tab) []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelector(".stages tbody tr").children].filter((c) => !c.classList.contains("plot")).map((c) => c.textContent)`)
}

func TestWhatIsMissing(t *testing.T) {
	zero := time.Now().Add(-time.Hour)
	line := otlp(t, sender{"holes", "trainer", "trainer-0"}, zero,
		span{trace: traceID(1), id: spanID(1), name: "root", took: 10 * time.Second},
		span{trace: traceID(1), id: spanID(2), parent: spanID(99), name: "<i>orphan</i>", start: time.Second, took: time.Second},
		span{trace: traceID(2), id: spanID(3), parent: spanID(98), name: "rootless", took: time.Second})
	early := make([]span, 0, 5)
	for i := range 5 {
		early = append(early, span{trace: traceID(1), id: spanID(10 + i), parent: spanID(1), name: "generate", start: -1500 * time.Millisecond, took: time.Second})
	}
	address := harness.FreePorts(t, 1)[0]
	startView(t, address, "--trace-jsonl", traceFile(t, line, line,
		otlp(t, sender{"holes", "engine", "engine-0"}, zero, early...),
		otlp(t, sender{"", "engine", "engine-1"}, zero, span{trace: traceID(1), id: spanID(20), parent: spanID(1), name: "joined", start: time.Second, took: time.Second}),
		otlp(t, sender{"", "vllm", "vllm-0"}, zero, span{trace: traceID(7), id: spanID(21), name: "lost", took: time.Second}),
		[]byte("{\"resourceSpans\": [<b>torn\n")))

	p := openTab(t, address, "/")
	p.waitText("1 line could not be read")
	p.clickText(".runs .name a", "holes")
	p.waitText("2 spans whose parent never arrived")
	p.clickText(".run-side a", "See which")
	for _, text := range []string{
		"2 spans whose parent never arrived", "<i>orphan</i>", spanID(99),
		"1 trace without a root", traceID(2),
		"3 spans that are there more than once", "2 copies",
		"1 span joined by its trace",
		"1 pair of processes whose clocks may differ",
		"engine-0 against trainer-0: of 5 children with a parent there, 5 lie outside it: they begin up to 1.5 s before them.",
		"vllm", "vllm-0", "1 line that could not be read", "traces.jsonl",
	} {
		p.waitText(text)
	}
	p.screenshot("missing")
	p.clickText(".missing-part .name a", "<i>orphan</i>")
	p.wait(`document.querySelector(".details .attributes")`)
	assert.Equal(t, spanID(2), p.query("span"))
	p.waitText("The parent of this span (" + spanID(99) + ") never arrived.")

	// The same of the files alone, and what is not there at all.
	p.do(chromedp.Navigate(p.origin + "/missing"))
	p.waitText("What is missing from the files")
	p.do(chromedp.Navigate(p.origin + "/nothing"))
	p.waitText("There is no such view.")
	p.expectFailures(true)
	p.do(chromedp.Navigate(p.origin + "/run?run=nobody"))
	p.wait(`document.querySelector('.notice.error[role="alert"]')`)
	p.do(chromedp.Navigate(p.origin + "/trace?run=holes&id=xyz"))
	p.wait(`document.querySelector('.notice.error[role="alert"]')`)
}
