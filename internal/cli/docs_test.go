package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/runspan/runspan/internal/doctor"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

const docsPath = "../../docs/commands.md"

// docs/commands.md is what --help says.
func TestDocsAgreeWithHelp(t *testing.T) {
	text := docs()
	if *update {
		require.NoError(t, os.WriteFile(docsPath, []byte(text), 0o600))
	}
	require.Equal(t, text, string(readFile(t, docsPath)), "`go test ./internal/cli -run Docs -update` writes it anew")
}

func docs() string {
	var s strings.Builder
	root := newRoot(newApp(io.Discard, io.Discard))
	fmt.Fprintf(&s, "# The runspan command line\n\n<!-- Made from `runspan --help`: go test ./internal/cli -run Docs -update -->\n\n%s\n", root.Long)
	s.WriteString("\nEvery command takes `--json`, which prints one JSON object instead of text, and `--help`. After an error\n" +
		"that left no result the object has the field `error`; the exit code and the text on the standard error\n" +
		"are the same. Progress is shown on a terminal only. `runspan completion --help` says how to complete\n" +
		"commands in a shell.\n")
	for _, cmd := range root.Commands() {
		fmt.Fprintf(&s, "\n## runspan %s\n\n%s\n\n```sh\n%s\n```\n\n```text\nrunspan %s\n", cmd.Name(), cmd.Long, unindent(cmd.Example), cmd.Use)
		if flags := cmd.LocalFlags().FlagUsages(); flags != "" {
			s.WriteString("\n" + flags)
		}
		s.WriteString("```\n")
		if cmd.Name() == "doctor" {
			s.WriteString(findingsTable())
		}
	}
	return s.String()
}

// findingsTable is what `runspan doctor` can find. Words in braces stand for values.
func findingsTable() string {
	var s strings.Builder
	s.WriteString("\nWhat it can find, in the order of the way; `--json` has the name in `finding`. Words in braces stand for\n" +
		"the values that it prints.\n\n| Finding | Exit code | What it says | change: |\n|---|---|---|---|\n")
	for _, f := range doctor.Findings() {
		fmt.Fprintf(&s, "| `%s` | %d | %s | %s |\n", f.Name, f.Code, f.Means, f.Change)
	}
	return s.String()
}

func unindent(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}

// Every command has an example that is a command line of its own, and says the same of itself as the
// others.
func TestCommandsAreComplete(t *testing.T) {
	root := newRoot(newApp(io.Discard, io.Discard))
	require.NotEmpty(t, root.Commands())
	for _, cmd := range root.Commands() {
		assert.NotEmpty(t, cmd.Short, cmd.Name())
		assert.NotEmpty(t, cmd.Long, cmd.Name())
		require.NotEmpty(t, cmd.Example, cmd.Name())
		for example := range strings.SplitSeq(unindent(cmd.Example), "\n") {
			assert.True(t, strings.HasPrefix(example, "runspan "+cmd.Name()+" "), example)
			requireExampleParses(t, root, example)
		}
	}
}

// requireExampleParses checks the flags and the number of arguments of an example.
func requireExampleParses(t *testing.T, root *cobra.Command, example string) {
	t.Helper()
	example, _, _ = strings.Cut(example, " | ")
	example, _, _ = strings.Cut(example, " || ")
	example, _, _ = strings.Cut(example, " && ")
	cmd, args, err := root.Find(strings.Fields(strings.ReplaceAll(example, "'", ""))[1:])
	require.NoError(t, err, example)
	require.NoError(t, cmd.ParseFlags(args), example)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), example)
}

// The commands that other pages show have flags and arguments that there are.
func TestDocumentedCommandsParse(t *testing.T) {
	commands := regexp.MustCompile(`runspan (?:exec|env) [^\n)]*`)
	root := newRoot(newApp(io.Discard, io.Discard))
	for page, least := range map[string]int{"../../docs/producers.md": 14, "../../README.md": 1} {
		n := 0
		for block := range strings.SplitSeq(string(readFile(t, page)), "```sh\n") {
			block, _, isBlock := strings.Cut(block, "```")
			if !isBlock {
				continue
			}
			for _, command := range commands.FindAllString(block, -1) {
				requireExampleParses(t, root, strings.ReplaceAll(command, `"`, ""))
				n++
			}
		}
		assert.GreaterOrEqual(t, n, least, page)
	}
}

func TestVersionIsTheCollectors(t *testing.T) {
	var manifest struct {
		Dist struct{ Version string }
	}
	require.NoError(t, yaml.Unmarshal(readFile(t, "../../builder-config.yaml"), &manifest))
	require.Equal(t, Version, manifest.Dist.Version)
}
