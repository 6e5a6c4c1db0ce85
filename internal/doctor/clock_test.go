package doctor

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A Date header is cut to the second and took a part of the way: neither is a clock that is off.
func TestClockBound(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name  string
		date  time.Time
		trip  time.Duration
		cache bool
		state string
	}{
		{"just now", now, 0, false, OK},
		{"nearly two seconds ahead", now.Add(1900 * time.Millisecond), 0, false, OK},
		{"nearly two seconds behind", now.Add(-1900 * time.Millisecond), 0, false, OK},
		{"four seconds ahead", now.Add(4 * time.Second), 0, false, Wrong},
		{"four seconds behind", now.Add(-4 * time.Second), 0, false, Wrong},
		{"ten seconds on the way", now, 10 * time.Second, false, OK},
		{"a day old, out of a cache", now.Add(-24 * time.Hour), 0, true, Skipped},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &visit{target: &target{}}
			resp := &http.Response{Header: http.Header{"Date": {tc.date.UTC().Format(http.TimeFormat)}}}
			if tc.cache {
				resp.Header.Set("Age", "86400")
			}
			v.readClock(resp, now.Add(-tc.trip), "h")
			p := v.clock(t.Context(), true)
			assert.Equal(t, tc.state, p.State, p.Seen)
		})
	}
}
