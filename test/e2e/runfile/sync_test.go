//go:build linux

package runfile

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// With durability sync the system calls come in this order: the line is written, the file is synced,
// the client gets its OK.
func TestSyncIsBeforeTheAnswer(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		harness.Missing(t, "strace", "install it")
	}
	dir := t.TempDir()
	path, trace := filepath.Join(dir, "traces.jsonl"), filepath.Join(dir, "trace")
	col := launch(t, freePort(t), []string{
		strace, "-f", "-qq", "-s", "100", "-y", "-o", trace,
		"-e", "trace=write,fsync,fdatasync,exit_group", "-e", "signal=none",
	},
		"path: "+path, "durability: sync")
	col.awaitReady(t)
	c := newClients(t, col.endpoint)
	for range 5 {
		body, _ := c.request(3)
		status, answer := c.post(t.Context(), body)
		require.Equal(t, http.StatusOK, status, answer)
	}
	col.Kill()
	var calls strings.Builder
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(trace)
		calls.Reset()
		calls.WriteString(order(string(data), path))
		return err == nil && strings.Count(calls.String(), "A") == 5
	}, 10*time.Second, 50*time.Millisecond, "%s", &calls)
	assert.Regexp(t, `^[^W]*(W+S+A){5}`, calls.String(), "W: line written, S: synced, A: acknowledged")
}

// order makes one letter of each call of interest, at the moment when it was complete; an answer
// counts from its beginning.
func order(trace, path string) string {
	file := regexp.QuoteMeta("<" + path + ">")
	write := regexp.MustCompile(`write\(\d+` + file + `, .* = \d+$`)
	writing := regexp.MustCompile(`write\(\d+` + file + `, .*<unfinished`)
	synced := regexp.MustCompile(`fd?a?t?a?sync\(\d+` + file + `\) += 0`)
	syncing := regexp.MustCompile(`fd?a?t?a?sync\(\d+` + file + `.*<unfinished`)
	answer := regexp.MustCompile(`write\(\d+<.*>, "HTTP/1.1 200 OK`)
	var calls strings.Builder
	pending := map[string]string{} // by thread
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		thread, _, _ := strings.Cut(line, " ")
		switch {
		case answer.MatchString(line):
			calls.WriteString("A")
		case write.MatchString(line):
			calls.WriteString("W")
		case synced.MatchString(line):
			calls.WriteString("S")
		case writing.MatchString(line):
			pending[thread] = "W"
		case syncing.MatchString(line):
			pending[thread] = "S"
		case strings.Contains(line, "resumed>") && pending[thread] != "":
			if !strings.Contains(line, "= -1") {
				calls.WriteString(pending[thread])
			}
			delete(pending, thread)
		}
	}
	return calls.String()
}
