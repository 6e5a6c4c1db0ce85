package tracefile

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var pathTestTime = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func template(tb testing.TB, path string) *PathTemplate {
	tb.Helper()
	parsed, err := ParsePathTemplate(path)
	require.NoError(tb, err)
	return parsed
}

func TestPathTemplate_Expand(t *testing.T) {
	for name, tc := range map[string]struct{ value, want string }{
		"as XTuner makes it": {"20261201-101500-4711-0a1b2c3d", "20261201-101500-4711-0a1b2c3d.jsonl"},
		"parent folder":      {"..", "%2e%2e.jsonl"},
		"path upwards":       {"../../etc/passwd", "%2e.%2f..%2fetc%2fpasswd.jsonl"},
		"absolute":           {"/abs", "%2fabs.jsonl"},
		"empty":              {"", "%empty.jsonl"},
		"its own escape":     {"%empty", "%25empty.jsonl"},
		"folder itself":      {".", "%2e.jsonl"},
		"escaped dot":        {"%2e", "%252e.jsonl"},
		"hidden":             {".ssh", "%2essh.jsonl"},
		"option":             {"-rf", "%2drf.jsonl"},
		"newline":            {"a\nb", "a%0ab.jsonl"},
		"NUL":                {"a\x00b", "a%00b.jsonl"},
		"space":              {"a b", "a%20b.jsonl"},
		"upper case":         {"Run-A", "%52un-%41.jsonl"},
		"not ASCII":          {"日", "%e6%97%a5.jsonl"},
		"bad UTF-8":          {"\xff", "%ff.jsonl"},
		"a file of another":  {"x.jsonl/1", "x.jsonl%2f1.jsonl"},
		"a segment":          {"x-20261201090000", "x-%320261201090000.jsonl"},
		"a numbered segment": {"x-20261201090000-1", "x-%320261201090000-%31.jsonl"},
		"a real segment":     {"x-20261201T090000Z-1", "x-20261201%54090000%5a-1.jsonl"},
		"256 bytes":          {strings.Repeat("a", 256), strings.Repeat("a", 175) + "%-02d7160d77e18c6447be80c2e355c7ed43885452.jsonl"},
		"the longest whole":  {strings.Repeat("a", 217), strings.Repeat("a", 217) + ".jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl := template(t, "/traces/{run.id}.jsonl")
			assert.Equal(t, "/traces/"+tc.want, tmpl.Expand(PathValues{Run: tc.value, Service: "not used"}))
			checkPathOf(t, tmpl, PathValues{Run: tc.value})

			folders := template(t, "/traces/{service.name}/{run.id}/traces.jsonl")
			checkPathOf(t, folders, PathValues{Run: tc.value, Service: tc.value})
			one := template(t, "/traces/{service.name}@{run.id}.jsonl")
			checkPathOf(t, one, PathValues{Run: tc.value, Service: tc.value})
		})
	}
}

// A value that is too long is cut behind a whole character, so that what is left of it can be read.
func TestPathTemplate_CutsWholeCharacters(t *testing.T) {
	for _, char := range []string{"a", "É", "日", "😀", "\xff", "\x80", "e\u0301"} {
		for before := range 16 {
			value := strings.Repeat("b", before) + strings.Repeat(char, 400)
			tmpl := template(t, "/traces/{run.id}/traces.jsonl")
			checkPathOf(t, tmpl, PathValues{Run: value})
			m, ok := tmpl.Match(tmpl.Expand(PathValues{Run: value}))
			require.True(t, ok && m.Shortened)
			rest := strings.TrimPrefix(value, m.Run)
			assert.Equal(t, utf8.ValidString(value), utf8.ValidString(m.Run), "%q", m.Run)
			assert.Less(t, len(rest), len(value)-50, "most of the room is used")
		}
	}
}

// checkPathOf checks what must hold for any value: the path stays in its folder, can be made, and
// leads back to the value.
func checkPathOf(tb testing.TB, tmpl *PathTemplate, v PathValues) {
	tb.Helper()
	path := tmpl.Expand(v)
	require.Equal(tb, filepath.Clean(path), path)
	require.True(tb, tmpl.Root() == "." || strings.HasPrefix(path, tmpl.Root()+"/"), path)
	require.Equal(tb, strings.Count(tmpl.String(), "/"), strings.Count(path, "/"), "no value makes a folder: %s", path)
	ok, err := filepath.Match(tmpl.Glob(), path)
	require.NoError(tb, err)
	require.True(tb, ok, "%s is not in %s", path, tmpl.Glob())
	require.True(tb, tailOrderOf(path).live, "%s is a segment for a reader", path)
	for name := range strings.SplitSeq(path, "/") {
		require.LessOrEqual(tb, len(name), maxNameBytes)
		require.False(tb, strings.HasPrefix(name, "."), name)
	}
	segment := SegmentPath(path, pathTestTime, 4_294_967_295)
	require.LessOrEqual(tb, len(filepath.Base(segment)), maxNameBytes)
	require.Equal(tb, path, tailOrderOf(segment).log)
	_, ok = tmpl.Match(segment)
	require.False(tb, ok, "a segment is no file of a run")

	m, ok := tmpl.Match(path)
	require.True(tb, ok, path)
	if !m.Shortened {
		require.Equal(tb, v, m.PathValues)
		return
	}
	require.True(tb, strings.HasPrefix(v.Run, m.Run), "%q of %q", m.Run, v.Run)
	require.True(tb, strings.HasPrefix(v.Service, m.Service), "%q of %q", m.Service, v.Service)
}

// No two values share a path, on a file system that ignores case neither.
func TestPathTemplate_NoTwoValuesShareAPath(t *testing.T) {
	long := strings.Repeat("long", 64)
	values := []string{
		"", ".", "..", "...", "/", "/abs", "abs", "%2e", "%2E", "%", "%%", "%empty", "a", "A", "%41", "%61", " ", "a ", " a",
		"x", "x/", "x.jsonl", "x.jsonl/1", "x.jsonl.torn", "x.jsonl.lock", "x.jsonl.pinned", "x/1", "x\\1", "x-1", "-x",
		"run-a", "Run-A", "RUN-A", "rUN-a", "é", "e\u0301", "ß", "ss", "ſ", "s", "K", "\u212a", "k",
		"x-20261201090000", "x-%320261201090000", "x-20261201T090000Z-1", "x-20261201t090000z-1",
		"a\nb", "a\x00b", "a\tb", "\xff", "\xfe", "\ufffd",
		long, long + "a", long + "b", strings.ToUpper(long), "A" + long, long[:217], long[:218], long[:219],
		long[:175] + "%-" + strings.Repeat("0", 40),
	}
	for _, path := range []string{"/traces/{run.id}.jsonl", "/traces/{run.id}/traces.jsonl", "r-{run.id}-x.jsonl"} {
		tmpl := template(t, path)
		seen := map[string]string{}
		for _, value := range values {
			folded := strings.ToLower(tmpl.Expand(PathValues{Run: value}))
			other, twice := seen[folded]
			require.False(t, twice, "%q and %q are both %s", value, other, folded)
			seen[folded] = value
			checkPathOf(t, tmpl, PathValues{Run: value})
		}
		// And all of them can be had at once.
		dir := t.TempDir()
		for folded := range seen {
			file := filepath.Join(dir, folded)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
		}
	}
}

func TestPathTemplate_Errors(t *testing.T) {
	for path, want := range map[string]string{
		"":                                     "is empty",
		"data/":                                "is a folder",
		"a\x00b":                               "NUL",
		"/t/{run}.jsonl":                       "{run is no placeholder: there are {run.id} and {service.name}",
		"/t/{run.id.jsonl":                     "is no placeholder",
		"/t/run.id}.jsonl":                     "has a } without a {",
		"/t/{run.id}":                          "must end like a file name",
		"/t/{run.id}.":                         "must end like a file name",
		"/t/x.{run.id}":                        "must end like a file name",
		"/t/{run.id}/x.torn":                   "must end like a file name",
		"/t/{run.id}.lock":                     "must end like a file name",
		"/t/{service.name}-{run.id}.js":        "two placeholders in one name",
		"/t/{service.name}{run.id}.js":         "two placeholders in one name",
		"/t/{run.id}-20261201T090000Z-1.jsonl": "ends like a closed segment",
		"/t/" + strings.Repeat("x", 200) + "{run.id}.jsonl": "shorten the text around it",
	} {
		_, err := ParsePathTemplate(path)
		assert.ErrorContains(t, err, want, path)
	}
}

func TestPathTemplate_WithoutPlaceholders(t *testing.T) {
	tmpl := template(t, "./data/traces.jsonl")
	assert.False(t, tmpl.HasPlaceholders())
	assert.Equal(t, "data", tmpl.Root())
	assert.Equal(t, "data/traces.jsonl", tmpl.Expand(PathValues{Run: "x"}))
	assert.Equal(t, "data/traces.jsonl", tmpl.Glob())
	assert.Equal(t, ".", template(t, "traces.jsonl").Root())
	assert.Equal(t, "/", template(t, "/traces.jsonl").Root())
	assert.Equal(t, ".", template(t, "{run.id}.jsonl").Root())
	assert.Equal(t, "/a/b", template(t, "/a/b/x-{run.id}/c/t.jsonl").Root())
	assert.Equal(t, `/a\*/*/t.jsonl`, template(t, `/a*/{run.id}/t.jsonl`).Glob())
}

func TestPathTemplate_MatchRefuses(t *testing.T) {
	tmpl := template(t, "/traces/{service.name}@{run.id}.jsonl")
	for _, path := range []string{
		"/traces/a.jsonl", "/traces/a@b", "/traces/a@b.json", "/trace/a@b.jsonl", "/traces/x/a@b.jsonl", "traces/a@b.jsonl",
		"/traces/@b.jsonl", "/traces/a@.jsonl", "/traces/A@b.jsonl", "/traces/a@%4A.jsonl", "/traces/a@%62.jsonl",
		"/traces/a@%4.jsonl", "/traces/a@.b.jsonl", "/traces/a@b@c.jsonl", "/traces/a@b-20261201090000.jsonl",
		"/traces/a@b-20261201T090000Z-1.jsonl", "/traces/a@b%-" + strings.Repeat("0", 40) + ".jsonl", "/traces/a@b%-zz.jsonl",
	} {
		_, ok := tmpl.Match(path)
		assert.False(t, ok, path)
	}
	_, ok := template(t, "/{run.id}/{run.id}.jsonl").Match("/a/b.jsonl")
	assert.False(t, ok, "one placeholder, two values")
	_, ok = template(t, "/{run.id}/{run.id}.jsonl").Match("/a/a.jsonl")
	assert.True(t, ok)
}

func FuzzPathTemplate(f *testing.F) {
	for _, s := range []string{"", ".", "..", "/abs", "%2e", "a\nb", "\x00", "x.jsonl/1", "Run", "run", "x-20261201090000", strings.Repeat("ä", 128)} {
		f.Add(s, "x", uint8(0))
		f.Add("driver", s, uint8(1))
	}
	templates := []string{
		"/t/{run.id}.jsonl", "/t/{run.id}/t.jsonl", "/t/{service.name}/{run.id}.jsonl", "/t/{service.name}@{run.id}.jsonl",
		"/t/x-{run.id}-y.jsonl", "/t/x-2026{run.id}.jsonl", "/t/{run.id}=-{service.name}.jsonl",
	}
	f.Fuzz(func(t *testing.T, a, b string, which uint8) {
		tmpl := template(t, templates[int(which)%len(templates)])
		pathA, pathB := tmpl.Expand(PathValues{Run: a, Service: b}), tmpl.Expand(PathValues{Run: b, Service: a})
		if a != b && strings.EqualFold(pathA, pathB) {
			t.Fatalf("%q and %q share %s", a, b, pathA)
		}
		used := func(run, service string) PathValues {
			if !strings.Contains(tmpl.String(), "{service.name}") {
				service = ""
			}
			return PathValues{Run: run, Service: service}
		}
		checkPathOf(t, tmpl, used(a, b))
		checkPathOf(t, tmpl, used(b, a))

		name := EncodePathValue(a, 200)
		value, shortened, ok := DecodePathValue(name)
		if !ok || len(name) > 200 || !shortened && value != a {
			t.Fatalf("%q is %q is %q", a, name, value)
		}
		// Whoever knows URLs can read a name.
		if plain, err := url.PathUnescape(name); a != "" && !shortened && (err != nil || plain != a) {
			t.Fatalf("%q is %q is %q for a URL", a, name, plain)
		}
		// What is not made by Expand is not matched.
		if m, ok := tmpl.Match("/t/" + a); ok && !m.Shortened && tmpl.Expand(m.PathValues) != filepath.Clean("/t/"+a) {
			t.Fatalf("%q matches, as %+v", a, m)
		}
	})
}
