package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/runspan/runspan/internal/runindex"
)

const (
	// turnPatience is how long a request waits for its turn before it is told to come again.
	turnPatience = time.Second

	// gzipFrom is the size from which an answer is compressed: below, it fits in a packet.
	gzipFrom = 1400

	// maxWaiting is how many bytes of answers may wait for clients that read them slowly.
	maxWaiting = 64 << 20
)

// sendPatience is how long a client may take to read an answer.
var sendPatience = 30 * time.Second // tests shorten it

// apiError is an answer that is an error.
type apiError struct {
	status int
	reason string
	text   string
}

// Error implements error.
func (e *apiError) Error() string { return e.text }

var errBusy = &apiError{http.StatusServiceUnavailable, "busy", "too many requests at once: come again"}

// fail sends an error.
func (v *Viewer) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*apiError](err)
	switch {
	case ok:
	case errors.Is(err, runindex.ErrGone):
		e = &apiError{http.StatusServiceUnavailable, "busy", "a file was replaced meanwhile: come again"}
	case errors.Is(err, runindex.ErrPage):
		e = badParameter("page", "is not the next of an answer")
	default:
		v.opts.Warn("a request failed: " + err.Error())
		e = &apiError{http.StatusInternalServerError, "internal", "an error of the viewer; its log has it"}
	}
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	body, _ := json.Marshal(struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}{e.text, e.reason}) // two strings
	v.send(w, r, e.status, body)
}

// answerBudget counts the bytes of answers that are on their way.
type answerBudget struct{ bytes atomic.Int64 }

// send writes a JSON body, compressed where the client takes it. The memory of answers that clients
// do not fetch is bounded: beyond it they are told to come again.
func (v *Viewer) send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= gzipFrom && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = compress(body)
	}
	size := int64(len(body))
	defer v.waiting.bytes.Add(-size)
	if v.waiting.bytes.Add(size) > maxWaiting && size >= gzipFrom {
		h.Del("Content-Encoding")
		h.Set("Retry-After", "1")
		status, body = http.StatusServiceUnavailable, []byte(`{"error":"`+errBusy.text+`","reason":"busy"}`)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// From here on, not from when the request came.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendPatience))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // whoever does not read it is gone
	}
}

// acceptsGzip reports whether a client takes gzip; "gzip;q=0" says that it does not.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, q, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			weight, err := strconv.ParseFloat(strings.TrimPrefix(q, "q="), 64)
			return q == "" || err == nil && weight > 0
		}
	}
	return false
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return w
}}

func compress(body []byte) []byte {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
