package producer

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With --view the run is on the page of the real viewer while the command still runs: the address that
// is printed answers with its spans, and is gone when the command has ended.
func TestExecShowsTheRunInAViewer(t *testing.T) {
	const run = "run/1 七"
	address := make(chan string, 1)
	cmd := execCommand(t, "--endpoint", "http://127.0.0.1:9", "--trace-jsonl", "traces.jsonl", "--view", "--run-id", run, "--", "cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	log := &addressLog{found: address}
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	var page string
	select {
	case page = <-address:
	case err := <-ended:
		t.Fatalf("it ended: %v\n%s", err, log.text.String())
	case <-time.After(20 * time.Second):
		t.Fatal("no address of a viewer was printed")
	}
	shown, err := url.Parse(page)
	require.NoError(t, err)
	api := "http://" + shown.Host + "/api/run?run=" + url.QueryEscape(run)
	type answer struct {
		State string `json:"state"`
		Spans int    `json:"spans"`
	}
	ask := func() (a answer) {
		require.NoError(t, json.Unmarshal([]byte(get(t, api)), &a))
		return a
	}
	assert.Equal(t, answer{State: "waiting"}, ask(), "the file is not there yet")

	line := `{"resourceSpans":[{"resource":{"attributes":[{"key":"run.id","value":{"stringValue":"` + run + `"}}]},"scopeSpans":[{"spans":[` +
		`{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"step","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}` + "\n"
	require.NoError(t, os.WriteFile(cmd.Dir+"/traces.jsonl", []byte(line), 0o600))
	assert.Eventually(t, func() bool { return ask() == answer{State: "ready", Spans: 1} }, 5*time.Second, 50*time.Millisecond)

	require.NoError(t, stdin.Close())
	require.NoError(t, <-ended)
	assert.Equal(t, 1, strings.Count(log.text.String(), shown.Host), "the address is printed once:\n%s", log.text.String())
}

// addressLog finds the address of the viewer in what is printed.
type addressLog struct {
	text  strings.Builder
	found chan<- string
}

var pageAddress = regexp.MustCompile(`(?m)^.*viewer.*?(http://127\.0\.0\.1:\d+\S*)`)

func (l *addressLog) Write(data []byte) (int, error) {
	l.text.Write(data)
	if m := pageAddress.FindStringSubmatch(l.text.String()); m != nil && l.found != nil {
		l.found <- m[1]
		l.found = nil
	}
	return len(data), nil
}
