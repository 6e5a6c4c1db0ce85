package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// Every finding that docs/commands.md lists is provoked by a test of this package, and none is found
// that it does not list; with the same exit code.
func TestEveryFindingIsProvoked(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "commands.md"))
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\d+) \\|").FindAllStringSubmatch(string(doc), -1) {
		documented[row[1]+" "+row[2]] = true
	}
	require.NotEmpty(t, documented)
	tests, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, test := range tests {
		text, err := os.ReadFile(test)
		require.NoError(t, err)
		code.Write(text)
	}
	provoked := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z]+(?:-[a-z]+)*)", (1\d|2\d)\b`).FindAllStringSubmatch(code.String(), -1) {
		provoked[m[1]+" "+m[2]] = true
	}
	for _, m := range regexp.MustCompile(`finding: "([a-z-]+)"`).FindAllStringSubmatch(code.String(), -1) {
		provoked[m[1]+" 21"] = true
	}
	assert.Equal(t, documented, provoked)
}
