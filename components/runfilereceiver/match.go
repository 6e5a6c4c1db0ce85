package runfilereceiver

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// matcher lets a part of the spans pass. The zero matcher lets all pass.
type matcher struct {
	run, service string
	from, to     pcommon.Timestamp // 0: no bound
}

func newMatcher(cfg MatchConfig) matcher {
	m := matcher{run: cfg.Run, service: cfg.Service}
	if !cfg.From.IsZero() {
		m.from = pcommon.NewTimestampFromTime(cfg.From)
	}
	if !cfg.To.IsZero() {
		m.to = pcommon.NewTimestampFromTime(cfg.To)
	}
	return m
}

// keep removes the spans that do not pass, and what is empty then. It returns their number.
func (m matcher) keep(td ptrace.Traces) (filtered int) {
	if m == (matcher{}) {
		return 0
	}
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		attrs := rs.Resource().Attributes()
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				passes := m.passes(span, attrs)
				if !passes {
					filtered++
				}
				return !passes
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return filtered
}

// passes decides on one span. Its own run.id and service.name win over its resource's: files that
// were not written behind run_id may differ there.
func (m matcher) passes(span ptrace.Span, resource pcommon.Map) bool {
	start := span.StartTimestamp()
	return (m.from == 0 || start >= m.from) &&
		(m.to == 0 || start < m.to) &&
		(m.run == "" || named(runid.AttributeRunID, span.Attributes(), resource) == m.run) &&
		(m.service == "" || named(runid.AttributeServiceName, span.Attributes(), resource) == m.service)
}

func named(key string, span, resource pcommon.Map) string {
	if v, ok := span.Get(key); ok {
		return v.AsString()
	}
	if v, ok := resource.Get(key); ok {
		return v.AsString()
	}
	return ""
}
