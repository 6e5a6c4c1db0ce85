package tracefile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// stockLine is what the collector's marshaler writes, changed in the two ways in which our encoder
// is meant to differ: a bad byte becomes U+FFFD, and what str.splitlines takes for the end of a line
// is escaped. Both can stand in strings only, and a bad sequence ends at the latest at the quote.
func stockLine(t *testing.T, td ptrace.Traces) string {
	t.Helper()
	var m ptrace.JSONMarshaler
	line, err := m.MarshalTraces(td)
	require.NoError(t, err)
	repaired := string([]rune(string(line)))
	return strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(repaired)
}

var keyStrindexPattern = regexp.MustCompile(`,"keyStrindex":-?\d+`)

// requireSameMeaning checks that line is the collector's line, byte by byte, or, where td holds what
// the encoder writes in another way, that the collector reads the same traces from both.
func requireSameMeaning(t *testing.T, td ptrace.Traces, line []byte) {
	t.Helper()
	want, got := stockLine(t, td), string(line)
	if strings.Contains(want, `"keyStrindex":`) {
		// A reference to a string table beside a key, which OTLP forbids, is left out.
		want = keyStrindexPattern.ReplaceAllString(want, "")
		got = keyStrindexPattern.ReplaceAllString(got, "")
	}
	require.Equal(t, wire(t, unmarshaled(t, []byte(want))), wire(t, unmarshaled(t, []byte(got))), "%s\n%s", want, got)
	if !strings.Contains(want, `"deprecatedScopeSpans":`) {
		require.Equal(t, want, got)
	}
}

func unmarshaled(t *testing.T, line []byte) ptrace.Traces {
	t.Helper()
	u := ptrace.JSONUnmarshaler{DisallowUnknownFields: true}
	td, err := u.UnmarshalTraces(line)
	require.NoError(t, err, "%s", line)
	return td
}

func wire(t *testing.T, td ptrace.Traces) []byte {
	t.Helper()
	var m ptrace.ProtoMarshaler
	out, err := m.MarshalTraces(td)
	require.NoError(t, err)
	return out
}

// assertKindToReaders checks what every line owes to every reader: strict JSON without white space,
// valid UTF-8, nothing at which a reader may end a line, and levels that readers can follow.
func assertKindToReaders(t *testing.T, line []byte) {
	t.Helper()
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, line), "%s", line)
	assert.Equal(t, compact.String(), string(line), "white space outside of a string")
	assert.True(t, utf8.Valid(line))
	assert.NotContains(t, string(line), "\u0085")
	assert.NotContains(t, string(line), "\u2028")
	assert.NotContains(t, string(line), "\u2029")
	for _, c := range line {
		if c < ' ' {
			t.Fatalf("control character %#x in %q", c, line)
		}
	}
	assert.LessOrEqual(t, levelsOf(line), 124)
}

// levelsOf is how many objects and lists stand inside each other.
func levelsOf(line []byte) int {
	deepest, level, inString := 0, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
