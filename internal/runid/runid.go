package runid

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

const (
	// AttributeRunID names the run a span belongs to. It is this project's attribute:
	// OpenTelemetry has no accepted convention for a training or serving run yet.
	AttributeRunID = "run.id"

	// AttributeServiceName says which kind of process of a run a span is from
	// (https://opentelemetry.io/docs/specs/semconv/resource/#service).
	AttributeServiceName = "service.name"

	// AttributeRunIDSource says on a span how its run was found where neither the span nor its
	// resource carried AttributeRunID. Its values are the Source constants.
	AttributeRunIDSource = "run.id.source"

	// Unassigned is the id of the run that collects spans which name none. Coming in from a
	// producer it counts as no run id, so that a second collector in the chain can still find one.
	Unassigned = "unassigned"

	// UnknownService stands where a producer names no service. The semantic conventions ask for
	// this value ("unknown_service") when the process name is not known.
	UnknownService = "unknown_service"

	// MaxBytes is the longest valid run id, in bytes of UTF-8.
	MaxBytes = 256
)

// The values of AttributeRunIDSource.
const (
	// SourceAlias: an attribute by which another tool names the run, on the span or its resource.
	SourceAlias = "alias"

	// SourceMetadata: a header of the request that brought the span.
	SourceMetadata = "metadata"

	// SourceTrace: the run that other spans of the same trace named.
	SourceTrace = "trace"

	// SourceFallback: nothing named a run; the run id is the collector's fallback id.
	SourceFallback = "fallback"
)

// The reasons for which a value is no run id.
var (
	ErrBlank       = errors.New("is blank")
	ErrTooLong     = fmt.Errorf("is longer than %d bytes", MaxBytes)
	ErrControl     = errors.New("holds a control character")
	ErrInvalidUTF8 = errors.New("is not valid UTF-8")
)

// Check returns nil when id is a valid run id, or else one of this package's errors that says why
// it is not. It does not allocate. A run id becomes part of file names, URLs and tables: blank
// ones could not be told from missing ones, and control characters would break lines.
func Check(id string) error {
	if len(id) > MaxBytes {
		return ErrTooLong
	}
	blank := true
	for i := 0; i < len(id); i++ {
		c := id[i]
		if c >= utf8.RuneSelf {
			return checkUnicode(id)
		}
		if c < 0x20 || c == 0x7f {
			return ErrControl
		}
		if c != ' ' {
			blank = false
		}
	}
	if blank {
		return ErrBlank
	}
	return nil
}

func checkUnicode(id string) error {
	if !utf8.ValidString(id) {
		return ErrInvalidUTF8
	}
	blank := true
	for _, r := range id {
		if unicode.IsControl(r) {
			return ErrControl
		}
		if !unicode.IsSpace(r) {
			blank = false
		}
	}
	if blank {
		return ErrBlank
	}
	return nil
}
