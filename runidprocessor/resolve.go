package runidprocessor

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/runspan/runspan/internal/runid"
)

// rule says which run a span belongs to. It holds settings only: its answer depends on nothing but
// its arguments.
type rule struct {
	fallbackID string
}

// resolve returns the run of a span. The first valid value wins: the span's own `run.id`, then its
// resource's, then the fallback id. The fallback id coming in counts as no run id, so that the
// result does not change when a second collector applies the rule again.
func (r rule) resolve(span, resource pcommon.Map) string {
	if id, ok := r.named(span); ok {
		return id
	}
	if id, ok := r.named(resource); ok {
		return id
	}
	return r.fallbackID
}

// named returns the run that attrs name, if they name one. Numbers and booleans become their text.
func (r rule) named(attrs pcommon.Map) (string, bool) {
	v, ok := attrs.Get(runid.AttributeRunID)
	if !ok {
		return "", false
	}
	var id string
	switch v.Type() {
	case pcommon.ValueTypeStr:
		id = v.Str()
	case pcommon.ValueTypeInt, pcommon.ValueTypeDouble, pcommon.ValueTypeBool:
		id = v.AsString()
	default:
		return "", false
	}
	if id == r.fallbackID || runid.Check(id) != nil {
		return "", false
	}
	return id, true
}
