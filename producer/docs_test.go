package producer

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Go code of docs/producers.md is that of the examples, which run.
func TestDocumentedCodeIsInTheExamples(t *testing.T) {
	doc, err := os.ReadFile("../docs/producers.md")
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	n := 0
	for block := range strings.SplitSeq(string(doc), "```go\n") {
		code, _, _ := strings.Cut(block, "```")
		if n++; n == 1 {
			continue // before the first
		}
		for line := range strings.Lines(code) {
			assert.Contains(t, string(examples), "\t"+strings.TrimSpace(line)+"\n")
		}
	}
	assert.Equal(t, 3, n)
}
