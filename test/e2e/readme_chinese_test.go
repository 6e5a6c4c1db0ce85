package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// section is what a section of a README has in every language.
type section struct {
	Level  int
	Blocks []string // of code: the language, and the text without what is translated
	Links  []string // their targets
	Code   []string // texts in backquotes, sorted, each once
	Rows   int      // of tables
	Items  int      // of lists
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inlineCode = regexp.MustCompile("`([^`]+)`")
	linkTarget = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading    = regexp.MustCompile(`(?m)^(#+) .*$`)
	comment    = regexp.MustCompile(` +# .*`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	tableRow   = regexp.MustCompile(`(?m)^\|`)
	listItem   = regexp.MustCompile(`(?m)^- `)
)

// sectionsOf returns the sections of a README.
func sectionsOf(t *testing.T, readme string) []section {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(harness.Root(t), readme))
	require.NoError(t, err)
	text := string(data)
	// A comment of a shell is no heading.
	masked := codeBlock.ReplaceAllStringFunc(text, func(block string) string { return strings.ReplaceAll(block, "#", "x") })
	at := heading.FindAllStringSubmatchIndex(masked, -1)
	require.NotEmpty(t, at)
	var sections []section
	for i, place := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s := section{Level: place[3] - place[2]}
		body := text[place[1]:end]
		for _, m := range codeBlock.FindAllStringSubmatch(body, -1) {
			block := m[2]
			switch m[1] {
			case "mermaid":
				block = quoted.ReplaceAllString(block, `"..."`)
			case "sh":
				block = comment.ReplaceAllString(block, "")
			}
			s.Blocks = append(s.Blocks, m[1]+"\n"+block)
		}
		body = codeBlock.ReplaceAllString(body, "")
		for _, m := range linkTarget.FindAllStringSubmatch(body, -1) {
			if !strings.HasPrefix(m[1], "README") { // the other language
				s.Links = append(s.Links, m[1])
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(body, -1) {
			s.Code = append(s.Code, m[1])
		}
		slices.Sort(s.Code)
		s.Code = slices.Compact(s.Code)
		s.Rows, s.Items = len(tableRow.FindAllString(body, -1)), len(listItem.FindAllString(body, -1))
		sections = append(sections, s)
	}
	return sections
}

// Both READMEs have the same sections, commands, links, names, tables and lists, in the same order. What
// the sentences say is for people to compare.
func TestReadmesSayTheSame(t *testing.T) {
	english, chinese := sectionsOf(t, "README.md"), sectionsOf(t, "README.zh-CN.md")
	require.Len(t, chinese, len(english), "sections")
	commands := 0
	for i := range english {
		assert.Equal(t, english[i], chinese[i], "section %d", i+1)
		commands += len(english[i].Blocks)
	}
	require.NotZero(t, commands, "the test has read no command")
}
