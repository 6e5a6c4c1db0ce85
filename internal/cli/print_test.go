package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What comes from a file cannot move the cursor, hide or begin a line.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                     "plain",
		"训练 é 🎉":                    "训练 é 🎉",
		"a\x1b[2Jb":                 `a\x1b[2Jb`,
		"a\nb\tc":                   `a\nb\tc`,
		"a\xffb":                    `a\xffb`,
		"\u202eright to left":       `\u202eright to left`,
		"\u2028":                    `\u2028`,
		`back\slash` + "\x00":       `back\\slash\x00`,
		`quotes "stay" as they are`: `quotes "stay" as they are`,
	} {
		assert.Equal(t, want, visible(text))
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	var out strings.Builder
	a := newApp(&out, io.Discard)
	a.table([]string{"RUN", ">N", "X"}, [][]string{{"训练", "1", "a"}, {"abcdef", "100", "b"}, {"e\u0301", "20", ""}})
	require.NoError(t, a.out.Flush())
	assert.Equal(t, "RUN       N  X\n训练      1  a\nabcdef  100  b\ne\u0301        20\n", out.String())
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "64MiB": 64 << 20, "1gb": 1e9, "1.5 KiB": 1536} {
		var b byteSize
		require.NoError(t, b.Set(text), text)
		assert.Equal(t, want, int64(b), text)
	}
	for _, text := range []string{"", "0", "-1", "x", "9999999TiB"} {
		var b byteSize
		assert.ErrorContains(t, b.Set(text), "is no size: write for example", text)
	}
}
