//go:build linux

package runfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// clients send spans, each request until it gets an OK, as SDKs do, and remember which they got.
type clients struct {
	endpoint string
	http     *http.Client
	stop     context.CancelFunc
	all      sync.WaitGroup
	sent     atomic.Uint64 // the next span's id
	// run names the run of a span that is sent now; nil: run-1. It is called by several goroutines.
	run func() string
	// pause is the time between two requests of a client.
	pause time.Duration

	mu           sync.Mutex
	acknowledged []uint64 // span ids
	refused      map[string]int
}

func newClients(t *testing.T, endpoint string) *clients {
	t.Helper()
	c := &clients{
		endpoint: endpoint,
		http:     &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		refused:  map[string]int{},
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// load starts n clients that send, without a pause unless one is set, between requests of a few and of many spans.
func (c *clients) load(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	t.Cleanup(c.end)
	for range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				body, ids := c.request(1 + rand.IntN(100))
				c.deliver(ctx, body, ids)
				if c.pause > 0 {
					time.Sleep(c.pause)
				}
			}
		})
	}
}

// end stops the load; what is on its way gets its answer first, or does not count as acknowledged.
func (c *clients) end() {
	c.stop()
	c.all.Wait()
}

// request makes a request of n new spans; with run, of several runs.
func (c *clients) request(n int) (body []byte, ids []uint64) {
	td := ptrace.NewTraces()
	var spans ptrace.SpanSlice
	for i := range n {
		if i == 0 || c.run != nil && rand.IntN(20) == 0 {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", "driver")
			run := "run-1"
			if c.run != nil {
				run = c.run()
			}
			rs.Resource().Attributes().PutStr("run.id", run)
			spans = rs.ScopeSpans().AppendEmpty().Spans()
		}
		id := c.sent.Add(1)
		ids = append(ids, id)
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(spanID(id))
		span.SetName(fmt.Sprintf("step %d", id))
		span.Attributes().PutStr("text", strings.Repeat("äb\"\n", rand.IntN(200)))
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		panic(err)
	}
	return body, ids
}

func spanID(id uint64) (s pcommon.SpanID) {
	binary.BigEndian.PutUint64(s[:], id)
	return s
}

// deliver sends body again and again until it is acknowledged or ctx ends.
func (c *clients) deliver(ctx context.Context, body []byte, ids []uint64) {
	for ctx.Err() == nil {
		status, answer := c.post(ctx, body)
		if status == http.StatusOK {
			c.mu.Lock()
			c.acknowledged = append(c.acknowledged, ids...)
			c.mu.Unlock()
			return
		}
		if ctx.Err() != nil {
			return // its own doing, no refusal
		}
		c.mu.Lock()
		c.refused[fmt.Sprint(status, " ", answer)]++
		c.mu.Unlock()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// post returns the status, 0 where there was no answer, and what the answer says.
func (c *clients) post(ctx context.Context, body []byte) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.endpoint+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, "no answer"
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.ToValidUTF8(string(answer), "")
}

// got returns the ids that were acknowledged so far.
func (c *clients) got() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]uint64(nil), c.acknowledged...)
}

// String lists the refusals, for the messages of failed assertions.
func (c *clients) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.refused)
}

// refusals returns how often requests were answered so with this text in it.
func (c *clients) refusals(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for answer, times := range c.refused {
		if strings.Contains(answer, text) {
			n += times
		}
	}
	return n
}

// awaitMore waits until n more spans are acknowledged.
func (c *clients) awaitMore(t *testing.T, n int) {
	t.Helper()
	before := len(c.got())
	require.Eventually(t, func() bool { return len(c.got()) >= before+n }, 30*time.Second, 5*time.Millisecond,
		"no spans are acknowledged: %v", c)
}
