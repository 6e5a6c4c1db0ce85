package page

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile are attributes as an attacker, or a model, could write them. None may be anything but text.
var hostile = []pair{
	{"script", "<script>window.hit = 1</script>"},
	{"image", `<img src=x onerror="window.hit = 1">`},
	{"url", "javascript:window.hit=1"},
	{"foreign", "http://attacker.example/steal"},
	{"style", "</style><link rel=stylesheet href=//attacker.example/a.css>"},
	{"turned", "invoice\u202efdp.exe\u202c"},
	{"zero\u0000key", "a\u0000b"},
	{"quotes", `'"` + "`"},
	{"__proto__", "polluted"},
	{"constructor", `{"prototype": {"hit": 1}}`},
	{"toString", "not a function"},
	{"entity", "&lt;b&gt; &amp;"},
	{"chinese", "请用中文回答:一加一等于几?"},
	{"hebrew", "שלום עולם"},
	{"emoji", "👩‍🚀🇨🇭"},
	{"long", strings.Repeat("long and longer ", 1000)},
	{"integer", 7},
	{"text of an integer", "7"},
	{"half", 0.5},
	{"yes", true},
	{"list", map[string]any{"arrayValue": map[string]any{"values": []any{map[string]any{"stringValue": "<b>"}, map[string]any{"intValue": "3"}}}}},
	{"<b onmouseover=window.hit=1>key</b>", "a key can be hostile too"},
}

// shownAs is how the page names the hidden characters of the hostile attributes.
var shownAs = strings.NewReplacer("\u202e", "U+202E", "\u202c", "U+202C", "\u0000", "U+0000")

func TestFromAnEmptyPageToASpan(t *testing.T) {
	collector := startCollector(t, "local.yaml")
	p := openTab(t, collector.Viewer, "/")

	// Nothing there: the page says what to type, and what the server waits for.
	p.waitText("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318")
	p.waitText("runspan exec --endpoint http://127.0.0.1:4317 ")
	p.screenshot("empty")

	// The first span shows up by itself.
	const run = `live/<img src=x onerror="window.hit=1"> 中文`
	from := sender{run, "trainer", "trainer-0"}
	zero := time.Now().Add(-5 * time.Second)
	send(t, collector.HTTP, otlp(t, from, zero,
		span{trace: traceID(1), id: spanID(1), name: "rollout.group", took: 4 * time.Second},
		span{
			trace: traceID(1), id: spanID(2), parent: spanID(1), name: `<script>window.hit = 1</script>`,
			start: time.Second, took: 2 * time.Second, failed: true, attributes: hostile,
			events: []any{map[string]any{
				"timeUnixNano": strconv.FormatInt(zero.Add(2*time.Second).UnixNano(), 10), "name": "exception",
				"attributes": attributes([]pair{{"exception.stacktrace", "Traceback:\n  File \"<train>\", line 1\nValueError"}}),
			}},
			links: []any{map[string]any{"traceId": traceID(2), "spanId": spanID(9), "attributes": attributes([]pair{{"why", "retry"}})}},
		},
		span{trace: traceID(1), id: spanID(3), parent: spanID(77), name: "judger.run", start: 3 * time.Second, took: time.Second / 2}))
	p.wait(`document.querySelector(".runs .name a")`)
	assert.Equal(t, []string{run}, p.texts(".runs .name a"))
	p.wait(`document.querySelector(".runs .badge.live")`)
	p.screenshot("runs-first")

	// The run, from its row.
	p.click(".runs .name a")
	p.wait(`document.querySelector(".traces tbody tr")`)
	assert.Equal(t, run, p.query("run"))
	assert.Equal(t, run, p.texts("h1")[0])
	p.wait(`document.querySelectorAll(".stages tbody tr").length === 3`)
	require.Equal(t, "3", spansOf(p))

	// It grows by itself.
	send(t, collector.HTTP, otlp(t, sender{run, "engine", "engine-0"}, zero,
		span{trace: traceID(1), id: spanID(4), parent: spanID(2), name: "generate", start: 500 * time.Millisecond, took: time.Second},
		span{trace: traceID(2), id: spanID(9), name: "eval", start: 4 * time.Second, took: time.Second}))
	p.wait(`document.querySelector(".facts").innerText.replace(/\s/g, " ").includes("Spans 5")`)
	p.wait(`document.querySelectorAll(".traces tbody tr").length === 2`)
	p.screenshot("run-first")

	// A trace, from its row; its orphan is badged.
	p.clickText(".traces .name a", "rollout.group")
	p.wait(`document.querySelectorAll(".waterfall .row").length === 4`)
	assert.Equal(t, traceID(1), p.query("id"))
	assert.Equal(t, []string{"rollout.group", hostileName, "generate", "judger.run"}, p.texts(".waterfall .span-name"))
	assert.Equal(t, []string{"orphan"}, p.texts(".waterfall .badge.orphan"))
	assert.Equal(t, []string{"1", "2", "3", "1"}, eval[[]string](p, `[...document.querySelectorAll(".waterfall .row")].map((r) => r.ariaLevel)`))

	// A span, by the mouse: everything in full, as text.
	p.clickText(".waterfall .span-name", hostileName)
	p.wait(`document.querySelector(".details .attributes")`)
	assert.Equal(t, spanID(2), p.query("span"))
	requireHostileShown(p)
	p.waitText("<b>out of memory</b>")
	p.waitText("exception.stacktrace")
	p.screenshot("span-hostile")
	p.clickText(".more-text", "… show all 16\u202f000 characters")
	assert.Equal(t, strings.Repeat("long and longer ", 1000), attributeValue(p, "long"))

	// The trace grows while it is looked at, and the chosen span stays.
	send(t, collector.HTTP, otlp(t, from, zero,
		span{trace: traceID(1), id: spanID(5), parent: spanID(1), name: "late", start: 100 * time.Millisecond, took: time.Second}))
	p.wait(`document.querySelectorAll(".waterfall .row").length === 5`)
	assert.Equal(t, hostileName, eval[string](p, `document.querySelector(".row.chosen .span-name").textContent`))

	// A copied value is the value, not what stands for it.
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, true)`))
	require.NoError(t, err)
	p.do(chromedp.Click(`//th[bdi[.="turned"]]/..//button`, chromedp.NodeVisible))
	p.wait(`window.copied !== undefined`)
	assert.Equal(t, "invoice\u202efdp.exe\u202c", eval[string](p, "window.copied"))

	// The link to another trace, and the way back.
	p.click(".span-link a")
	p.wait(`document.querySelectorAll(".waterfall .row").length === 1`)
	assert.Equal(t, []string{traceID(2), spanID(9)}, []string{p.query("id"), p.query("span")})
	p.do(chromedp.NavigateBack())
	p.wait(`document.querySelectorAll(".waterfall .row").length === 5`)
	assert.Equal(t, spanID(2), p.query("span"))

	// The address alone brings all of it back.
	p.do(chromedp.Reload())
	p.wait(`document.querySelector(".details .attributes")`)
	requireHostileShown(p)
	assert.False(t, eval[bool](p, `"hit" in window || "hit" in {}`), "something hostile ran")

	// The keyboard alone.
	p.do(chromedp.Focus(".waterfall"), chromedp.KeyEvent(kb.Home))
	p.wait(`document.querySelector(".row.chosen .span-name").textContent === "rollout.group"`)
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	p.wait(`document.querySelectorAll(".waterfall .row").length === 2`)
	p.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	p.wait(`document.querySelector(".row.chosen .span-name").textContent.startsWith("<script>")`)
	p.wait(`new URLSearchParams(location.search).get("span") === "` + spanID(2) + `"`)
}

// hostileName is the name of the span with the hostile attributes.
const hostileName = `<script>window.hit = 1</script>`

// spansOf is the number of spans that a run's view shows.
func spansOf(p *tab) string {
	p.t.Helper()
	return eval[string](p, `[...document.querySelectorAll(".facts div")].find((d) => d.querySelector("dt").textContent === "Spans").querySelector("dd").textContent`)
}

// attributeValue is the text that stands for an attribute in the span's details.
func attributeValue(p *tab, key string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`[...document.querySelectorAll(".details .attributes tr")].find((r) => r.querySelector("th").textContent === %q)?.querySelector(".value bdi")?.textContent ?? "(none)"`, key))
}

// requireHostileShown fails where a hostile attribute is not there as the text that it is.
func requireHostileShown(p *tab) {
	p.t.Helper()
	for _, a := range hostile {
		want := ""
		switch value := a.value.(type) {
		case string:
			want = shownAs.Replace(value)
			if a.key == "long" {
				want = want[:1000]
			}
		case map[string]any:
			want = `["<b>", 3]`
		default:
			want = fmt.Sprint(value)
		}
		assert.Equal(p.t, want, attributeValue(p, shownAs.Replace(a.key)), a.key)
	}
	// Types matter: 7 and "7" are two values.
	types := `[...document.querySelectorAll(".details .attributes tr")].find((r) => r.querySelector("th").textContent === %q).querySelector(".type")?.textContent ?? ""`
	assert.Equal(p.t, "int", eval[string](p, fmt.Sprintf(types, "integer")))
	assert.Empty(p.t, eval[string](p, fmt.Sprintf(types, "text of an integer")))
}
