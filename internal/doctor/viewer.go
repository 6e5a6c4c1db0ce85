package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// viewerAnswer is what is used of the answers of a viewer (docs/api.md).
type viewerAnswer struct {
	Version string `json:"version"`
	RunID   string `json:"run_id"`
	Spans   int64  `json:"spans"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Error   string `json:"error"`
	Files   []struct {
		File string `json:"file"`
	} `json:"files"`
}

// lookInViewer waits until the viewer shows the run.
func (v *visit) lookInViewer(ctx context.Context) Place {
	began := time.Now()
	var health viewerAnswer
	status, err := v.ask(ctx, v.Viewer+"/api/health", v.ViewerHeaders, &health)
	if p, refused := v.viewerRefused(status, &health); refused {
		return p
	}
	switch {
	case errors.Is(err, errNotJSON), err == nil && (health.Version == "" || health.State == ""):
		return wrong("viewer", viewerNotOne, v.Viewer+" answers, and not as a viewer at /api/health", "viewer", v.Viewer)
	case err != nil:
		return wrong("viewer", viewerUnreachable, v.unreachable(v.Viewer, err), "viewer", v.Viewer)
	}
	var last viewerAnswer
	for {
		var run viewerAnswer
		status, err := v.ask(ctx, v.Viewer+"/api/run?run="+url.QueryEscape(v.span.run), v.ViewerHeaders, &run)
		if p, refused := v.viewerRefused(status, &run); refused {
			return p
		}
		switch {
		case errors.Is(err, errNotJSON):
			return wrong("viewer", viewerNotOne, v.Viewer+" answers, and not as a viewer at /api/run", "viewer", v.Viewer)
		case err != nil && ctx.Err() == nil:
			return wrong("viewer", viewerUnreachable, v.unreachable(v.Viewer, err), "viewer", v.Viewer)
		case err == nil && run.RunID == v.span.run && run.Spans > 0:
			return seen("viewer", OK, fmt.Sprintf("%s shows the run with %d span, %s after the endpoint took it", v.Viewer, run.Spans, short(time.Since(began))))
		case err == nil:
			last = run
		}
		if !again(ctx) {
			return v.notInViewer(context.WithoutCancel(ctx), &last)
		}
	}
}

// viewerRefused tells why a viewer, or what stands before it, does not answer.
func (v *visit) viewerRefused(status int, a *viewerAnswer) (Place, bool) {
	switch status {
	case http.StatusUnauthorized:
		return wrong("viewer", viewerToken, v.Viewer+" answers 401 Unauthorized: "+text(a.Error)), true
	case http.StatusForbidden:
		return wrong("viewer", viewerHost, v.Viewer+" answers 403 Forbidden: "+text(a.Error), "viewer", v.Viewer), true
	}
	return Place{}, false
}

// notInViewer tells what the viewer shows instead.
func (v *visit) notInViewer(ctx context.Context, last *viewerAnswer) Place {
	what := fmt.Sprintf("%s did not show the run within %s", v.Viewer, v.Timeout)
	if last.State != "" && last.State != "ready" {
		what += fmt.Sprintf("; its state is %s: %s", last.State, text(last.Reason))
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime/2)
	defer cancel()
	var missing viewerAnswer
	if _, err := v.ask(ctx, v.Viewer+"/api/missing", v.ViewerHeaders, &missing); err == nil && len(missing.Files) > 0 {
		const most = 5 // of the names of files
		var names []string
		for _, f := range missing.Files[:min(most, len(missing.Files))] {
			names = append(names, f.File)
		}
		if more := len(missing.Files) - most; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		what += "; it reads " + text(strings.Join(names, ", "))
	}
	return wrong("viewer", viewerWithoutRun, what, "viewer", v.Viewer, "endpoint", v.target.endpoint)
}
