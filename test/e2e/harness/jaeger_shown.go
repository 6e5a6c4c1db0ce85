package harness

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Shown is a span with everything that Jaeger shows of it, in a form in which two are equal when
// their pages look alike.
type Shown struct {
	TraceID   string
	SpanID    string
	Operation string
	Service   string
	Start     uint64   // microseconds since 1970
	Duration  uint64   // microseconds
	Flags     uint32   // 1: sampled
	Parents   []string // "CHILD_OF trace span", parent and links
	Tags      []string // "key type value", sorted
	Process   []string // the same for the process
	Logs      []string // "time: key type value, ..."
	Warnings  []string
}

// Find asks the query API with the given parameters, as Jaeger's search page has them, and returns
// every span of every trace found, by trace and span id.
func (j *Jaeger) Find(ctx context.Context, query url.Values) ([]Shown, error) {
	var body struct {
		Data []struct {
			Spans []struct {
				TraceID, SpanID, OperationName, ProcessID string
				StartTime, Duration                       uint64
				Flags                                     uint32
				References                                []struct{ RefType, TraceID, SpanID string }
				Tags                                      []shownTag
				Logs                                      []struct {
					Timestamp uint64
					Fields    []shownTag
				}
				Warnings []string
			}
			Processes map[string]struct {
				ServiceName string
				Tags        []shownTag
			}
		}
	}
	if err := j.ask(ctx, "/api/traces?"+query.Encode(), &body); err != nil {
		return nil, err
	}
	var all []Shown
	for _, trace := range body.Data {
		for _, s := range trace.Spans {
			process := trace.Processes[s.ProcessID]
			shown := Shown{
				TraceID: s.TraceID, SpanID: s.SpanID, Operation: s.OperationName, Service: process.ServiceName,
				Start: s.StartTime, Duration: s.Duration, Flags: s.Flags,
				Tags: texts(s.Tags), Process: texts(process.Tags), Warnings: s.Warnings,
			}
			slices.Sort(shown.Tags)
			slices.Sort(shown.Process)
			for _, ref := range s.References {
				shown.Parents = append(shown.Parents, ref.RefType+" "+ref.TraceID+" "+ref.SpanID)
			}
			for _, log := range s.Logs {
				shown.Logs = append(shown.Logs, fmt.Sprintf("%d: %s", log.Timestamp, strings.Join(texts(log.Fields), ", ")))
			}
			all = append(all, shown)
		}
	}
	slices.SortFunc(all, func(a, b Shown) int {
		return strings.Compare(a.TraceID+a.SpanID, b.TraceID+b.SpanID)
	})
	return all, nil
}

// Names asks the query API for a list of names: "/api/services", "/api/services/NAME/operations".
func (j *Jaeger) Names(ctx context.Context, path string) ([]string, error) {
	var body struct{ Data []string }
	if err := j.ask(ctx, path, &body); err != nil {
		return nil, err
	}
	slices.Sort(body.Data)
	return body.Data, nil
}

type shownTag struct {
	Key, Type string
	Value     any
}

func texts(tags []shownTag) []string {
	all := make([]string, 0, len(tags))
	for _, tag := range tags {
		all = append(all, fmt.Sprintf("%s %s %v", tag.Key, tag.Type, tag.Value))
	}
	return all
}
