package runidprocessor

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/runspan/runspan/internal/runid"
)

// source says where the run of a span was found.
type source uint8

const (
	sourceNone source = iota
	sourceSpan
	sourceResource
	sourceAlias
	sourceMetadata
	sourceTrace
	sourceFallback
	numSources
)

// sourceNames are the values of the metrics' attribute source. From sourceAlias on they are also
// the values of `run.id.source`.
var sourceNames = [numSources]string{
	sourceSpan:     "span",
	sourceResource: "resource",
	sourceAlias:    runid.SourceAlias,
	sourceMetadata: runid.SourceMetadata,
	sourceTrace:    runid.SourceTrace,
	sourceFallback: runid.SourceFallback,
}

// names are the valid run ids that stand on one level, a span or a resource. Empty: none.
type names struct {
	own   string // under `run.id`
	alias string // under the first alias that holds one
}

// resolve says which run a span belongs to by what the span, its resource and the request name:
// the first valid value wins. sourceNone means that none of them names a run, which leaves the
// other spans of the trace and the fallback. It is a pure function.
func resolve(span, resource names, metadata string) (string, source) {
	switch {
	case span.own != "":
		return span.own, sourceSpan
	case resource.own != "":
		return resource.own, sourceResource
	case span.alias != "":
		return span.alias, sourceAlias
	case resource.alias != "":
		return resource.alias, sourceAlias
	case metadata != "":
		return metadata, sourceMetadata
	}
	return "", sourceNone
}

// ignored says why a value is no run id.
type ignored uint8

const (
	notIgnored ignored = iota
	ignoredBlank
	ignoredTooLong
	ignoredControl
	ignoredInvalidUTF8
	ignoredType
	ignoredFallback
	numIgnored
)

var ignoredNames = [numIgnored]string{
	ignoredBlank:       "blank",
	ignoredTooLong:     "too_long",
	ignoredControl:     "control_character",
	ignoredInvalidUTF8: "invalid_utf8",
	ignoredType:        "wrong_type",
	ignoredFallback:    "fallback_id",
}

// judge says which values are run ids. It holds settings only.
type judge struct {
	fallbackID string
}

// value returns the run id that v holds, or why it holds none. Numbers and booleans become their
// text.
func (j judge) value(v pcommon.Value) (string, ignored) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return j.text(v.Str())
	case pcommon.ValueTypeInt, pcommon.ValueTypeDouble, pcommon.ValueTypeBool:
		return j.text(v.AsString())
	case pcommon.ValueTypeEmpty:
		return "", ignoredBlank
	default:
		return "", ignoredType
	}
}

// text returns id if it is a run id, or why it is none. A fallback id is none, so that the result
// does not change, or becomes better, when a second collector applies the rule again. The default
// fallback id counts with the configured one: the first collector may have another configuration.
func (j judge) text(id string) (string, ignored) {
	if id == j.fallbackID || id == runid.Unassigned {
		return "", ignoredFallback
	}
	switch err := runid.Check(id); {
	case err == nil:
		return id, notIgnored
	case errors.Is(err, runid.ErrTooLong):
		return "", ignoredTooLong
	case errors.Is(err, runid.ErrControl):
		return "", ignoredControl
	case errors.Is(err, runid.ErrInvalidUTF8):
		return "", ignoredInvalidUTF8
	default:
		return "", ignoredBlank
	}
}
