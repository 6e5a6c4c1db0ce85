package viewer

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testFile = "testdata/traces.jsonl"

// Another site's page cannot send the Host or the Origin of this one.
func TestHostAndOrigin(t *testing.T) {
	for _, tc := range []struct {
		endpoint, allowed    string
		host, origin, others string // others: Sec-Fetch-Site
		want                 string // reason, "" where it is answered
	}{
		{"127.0.0.1", "", "127.0.0.1:18318", "", "", ""},
		{"127.0.0.1", "", "localhost:18318", "http://localhost:18318", "same-origin", ""},
		{"127.0.0.1", "", "LOCALHOST.", "", "", ""},
		{"127.0.0.1", "", "[::1]:18318", "http://[::1]:18318", "", ""},
		{"127.0.0.1", "", "evil.example:18318", "", "", "host"},
		{"127.0.0.1", "", "127.0.0.1.evil.example", "", "", "host"},
		{"127.0.0.1", "", "10.0.0.1:18318", "", "", "host"},
		{"127.0.0.1", "", "", "", "", "host"},
		{"127.0.0.1", "", "127.0.0.1:18318", "http://evil.example", "", "origin"},
		{"127.0.0.1", "", "127.0.0.1:18318", "null", "", "origin"},
		{"127.0.0.1", "", "127.0.0.1:18318", "http://127.0.0.1:3000", "", "origin"},
		{"127.0.0.1", "", "127.0.0.1:18318", "http://127.0.0.1:18318@evil.example", "", "origin"},
		{"127.0.0.1", "", "127.0.0.1:18318", "", "cross-site", "origin"},
		{"10.1.2.3", "", "10.1.2.3:18318", "", "", ""},
		{"10.1.2.3", "", "10.1.2.4:18318", "", "", "host"},
		{"pod-7", "", "POD-7:18318", "", "", ""},
		{"0.0.0.0", "", "10.1.2.3:18318", "http://10.1.2.3:18318", "", ""},
		{"::", "", "[fd00::7]:18318", "", "", ""},
		{"0.0.0.0", "", "evil.example", "", "", "host"},
		{"0.0.0.0", "runspan.team.svc", "runspan.team.svc:18318", "", "", ""},
		{"0.0.0.0", "runspan.team.svc", "x.runspan.team.svc", "", "", "host"},
		{"0.0.0.0", "*.Example.com", "a.b.example.com", "", "", ""},
		{"0.0.0.0", "*.example.com", "badexample.com", "", "", "host"},
		{"0.0.0.0", "*.example.com", "example.com", "", "", "host"},
		{"127.0.0.1", "viewer.example:443", "viewer.example:443", "", "", ""},
		{"127.0.0.1", "viewer.example:443", "viewer.example:80", "", "", "host"},
		{"127.0.0.1", "viewer.example", "127.0.0.1", "https://viewer.example", "", ""},
		{"127.0.0.1", "*", "anything", "", "", ""},
		{"127.0.0.1", "*", "anything", "http://evil.example", "", "origin"},
	} {
		for _, path := range []string{"/api/runs", "/", "/api/health", "/app.js"} {
			var allowed []string
			if tc.allowed != "" {
				allowed = []string{tc.allowed}
			}
			hosts, err := parseHosts(allowed, tc.endpoint)
			require.NoError(t, err)
			v := &Viewer{hosts: hosts, opts: Options{Warn: func(string) {}}}
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			if tc.others != "" {
				r.Header.Set("Sec-Fetch-Site", tc.others)
			}
			err = v.hosts.check(r)
			reason := ""
			if e, ok := errors.AsType[*apiError](err); ok {
				reason = e.reason
			}
			assert.Equal(t, tc.want, reason, "%+v", tc)
			if tc.want != "" {
				w := httptest.NewRecorder()
				v.ServeHTTP(w, r)
				assert.Equal(t, http.StatusForbidden, w.Code, "%+v %s", tc, path)
				assert.Contains(t, w.Body.String(), `"reason":"`+tc.want+`"`)
			}
		}
	}
}

// A link on another site may lead to the page.
func TestLinksLeadHere(t *testing.T) {
	v := start(t, nil, testFile)
	assert.Equal(t, http.StatusOK, get(v, "/run?run=x", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate").Code)
}

func TestWrongAllowedHostsAreRefused(t *testing.T) {
	for _, host := range []string{"", "http://a.example", "a b", "*.*.example", "user@host", "a*.example"} {
		assert.Error(t, CheckHosts([]string{host}), host)
	}
}

func TestTokenIsForTheAPIAlone(t *testing.T) {
	v := start(t, func(o *Options) {
		o.Authenticate = func(r *http.Request) error {
			if r.Header.Get("Authorization") != "Bearer secret" {
				return errors.New("no")
			}
			return nil
		}
	}, testFile)
	for name, target := range goldenRequests {
		if name == "error_no_such_path" {
			continue
		}
		w := get(v, target)
		assert.Equal(t, http.StatusUnauthorized, w.Code, target)
		assert.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
		assert.Contains(t, w.Body.String(), `"reason":"no_token"`)
		assert.NotContains(t, w.Body.String(), testRun)
		assert.NotEqual(t, http.StatusUnauthorized, get(v, target, "Authorization", "Bearer secret").Code)
	}
	for _, open := range []string{"/", "/run?run=x", "/api/health"} {
		assert.Equal(t, http.StatusOK, get(v, open).Code, open)
	}
}

// Whatever is asked, the headers that protect a browser are there, and none that lets others in.
func TestSecurityHeadersOnEveryAnswer(t *testing.T) {
	v := start(t, nil, testFile)
	targets := []string{"/", "/run", "/app.js", "/none.js", "/api", "/api/", "/apiary", "/../../etc/passwd", "//evil", "/%2e%2e/x", "/api/../runs"}
	for _, target := range goldenRequests {
		targets = append(targets, target)
	}
	for _, target := range targets {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions, "BREW"} {
			r := httptest.NewRequest(method, target, http.NoBody)
			r.Host = "localhost"
			r.Header.Set("Access-Control-Request-Method", "GET")
			w := httptest.NewRecorder()
			v.ServeHTTP(w, r)
			h := w.Header()
			csp := h.Get("Content-Security-Policy")
			assert.Contains(t, csp, "default-src 'none'")
			assert.Contains(t, csp, "script-src 'self';")
			assert.NotContains(t, csp, "unsafe")
			assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
			assert.Equal(t, "DENY", h.Get("X-Frame-Options"))
			assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
			assert.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"))
			for name := range h {
				assert.False(t, strings.HasPrefix(name, "Access-Control-"), name)
			}
			if method != http.MethodGet && method != http.MethodHead {
				assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method+" "+target)
				assert.Equal(t, "GET, HEAD", h.Get("Allow"))
			}
			if method == http.MethodHead {
				assert.Empty(t, w.Body.String())
			}
			if strings.HasPrefix(r.URL.Path, "/api/") {
				assert.Equal(t, "no-store", h.Get("Cache-Control"))
			}
		}
	}
}

// Files of the page are answered from memory, all other paths are the page: none is opened.
func TestPagePaths(t *testing.T) {
	v := start(t, nil, testFile)
	index := string(assets[indexPage].body)
	for _, path := range []string{
		"/", "/run", "/trace?run=a%2Fb&id=1", "/missing", "/a/b/c", "/etc/passwd", "/..%2f..%2fgo.mod",
		"/%2e%2e/%2e%2e/go.mod", "/testdata/traces.jsonl", "/dist/", "/apiary",
	} {
		w := get(v, path)
		assert.Equal(t, http.StatusOK, w.Code, path)
		assert.Equal(t, index, w.Body.String(), path)
		assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	}
	for _, path := range []string{"/none.js", "/a/none.css", "/favicon.ico"} {
		assert.Equal(t, http.StatusNotFound, get(v, path).Code, path)
	}
	first := get(v, "/")
	tag := first.Header().Get("ETag")
	require.NotEmpty(t, tag)
	again := get(v, "/", "If-None-Match", tag)
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Empty(t, again.Body.String())
}

func TestGzipWhereItIsTaken(t *testing.T) {
	v := start(t, nil, testFile)
	ready(t, v)
	target := query("/api/run", "run", testRun)
	plain := get(v, target)
	assert.Empty(t, plain.Header().Get("Content-Encoding"))
	for accept, want := range map[string]bool{
		"gzip": true, "br;q=1, GZIP ; q=0.5": true, "deflate, gzip;q=1.0": true, "gzip;q=0": false, "gzip;q=0.0": false, "br": false, "gzip;q=x": false, "": false,
	} {
		w := get(v, target, "Accept-Encoding", accept)
		assert.Equal(t, want, w.Header().Get("Content-Encoding") == "gzip", accept)
		assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		if want {
			z, err := gzip.NewReader(w.Body)
			require.NoError(t, err)
			body, err := io.ReadAll(z)
			require.NoError(t, err)
			assert.Len(t, body, plain.Body.Len())
		}
	}
}
