package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// lookInterval is the time between two looks at a viewer or a Jaeger.
const lookInterval = 200 * time.Millisecond

// ask gets an answer in JSON from a page, and the status. The error is errNotJSON for an answer of
// another kind.
func (v *visit) ask(ctx context.Context, address string, headers map[string]string, into any) (status int, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	for key, value := range headers {
		req.Header.Set(key, value)
	}
	client := v.httpClient()
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = u.Hostname()
	defer client.CloseIdleConnections()
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	v.readClock(resp, sent, u.Host)
	const most = 1 << 20 // bytes of an answer about one span
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(body, into) != nil {
		return resp.StatusCode, fmt.Errorf("%w: GET %s: %d %s", errNotJSON, address, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return resp.StatusCode, nil
}

var errNotJSON = errors.New("not JSON")

// unreachable says why a page was not reached.
func (v *visit) unreachable(address string, err error) string {
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return host + " has no address: " + lookupError(err)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && ownAddress(err) && v.pod != "":
		return fmt.Sprintf("nothing listens on %s in this %s, whose own address that is", host, v.pod)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on " + host
	case timedOut(err):
		return fmt.Sprintf("%s does not answer within %s", host, v.Timeout)
	}
	return fmt.Sprintf("%s cannot be asked: %s", host, reason(err))
}

// again waits until it is time for another look, and reports whether there is to be one.
func again(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lookInterval):
		return true
	}
}
