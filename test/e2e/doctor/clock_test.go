package doctor

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// A real collector on a host whose clock is off: what its HTTP server says is the time is changed on
// the way.
func TestClock(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	at, err := url.Parse("http://" + c.HTTP)
	require.NoError(t, err)
	for _, tc := range []struct {
		off  time.Duration
		says string
	}{
		{time.Hour, "59m59s ahead|1h0m0s ahead"},
		{-90 * time.Second, "1m30s behind|1m29s behind|1m31s behind"},
		{0, ""},
	} {
		proxy := httputil.NewSingleHostReverseProxy(at)
		proxy.ModifyResponse = func(r *http.Response) error {
			date, err := http.ParseTime(r.Header.Get("Date"))
			r.Header.Set("Date", date.Add(tc.off).UTC().Format(http.TimeFormat))
			return err
		}
		server := httptest.NewServer(proxy)
		defer server.Close()
		r := diagnose(t, "--endpoint", server.URL, "--protocol", "http", "--trace-jsonl", c.TraceFile())
		require.Equal(t, "ok", r.states()["file"])
		if tc.off == 0 {
			requireWell(t, r)
			require.Equal(t, "ok", r.states()["clock"])
			continue
		}
		requireFinding(t, r, "clock", 19, "NTP")
		require.Regexp(t, tc.says, r.stdout)
	}
	// gRPC says nothing of the time; the doctor says so.
	r := diagnose(t, "--endpoint", "http://"+c.GRPC)
	require.Equal(t, "skipped", r.states()["clock"])
}
