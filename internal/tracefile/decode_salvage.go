package tracefile

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// object is a JSON object of which only the keys have been read.
type object map[string]json.RawMessage

// salvager reads a line that the stock unmarshaler refuses, or of which it would pass over fields
// without a word, and counts what it cannot keep. It takes the line apart down to its spans, so that
// one of them that cannot be read costs no other.
type salvager struct {
	lost int
}

func salvage(line []byte) (ptrace.Traces, int, error) {
	var top object
	if err := json.Unmarshal(line, &top); err != nil {
		return ptrace.Traces{}, 0, errors.Join(ErrNotJSON, err)
	}
	var s salvager
	resources, there := s.list(top, "resourceSpans", "resource_spans")
	if !there || len(resources) == 0 && s.lost > 0 { // or it is no list
		return ptrace.Traces{}, 0, ErrNotTraces
	}
	s.unknown(top)
	td := ptrace.NewTraces()
	for _, raw := range resources {
		if raw, ok := s.object(raw); ok {
			s.resourceSpans(td.ResourceSpans(), raw)
		}
	}
	return td, s.lost, nil
}

func (s *salvager) resourceSpans(rss ptrace.ResourceSpansSlice, raw object) {
	scopes, _ := s.list(raw, "scopeSpans", "scope_spans")
	// Its name until OTLP 0.15.
	older, _ := s.list(raw, "instrumentationLibrarySpans", "instrumentation_library_spans")
	head := s.clean(raw, resourceSpansMessage)
	one, ok := unmarshal(object{"resourceSpans": listOf(head)})
	if !ok {
		// A resource that cannot be read leaves its spans without one.
		s.lost++
		one, _ = unmarshal(object{"resourceSpans": listOf(object{})})
	}
	one.ResourceSpans().MoveAndAppendTo(rss)
	rs := rss.At(rss.Len() - 1)
	for _, raw := range slices.Concat(scopes, older) {
		if raw, ok := s.object(raw); ok {
			s.scopeSpans(rs.ScopeSpans(), raw)
		}
	}
}

func (s *salvager) scopeSpans(sss ptrace.ScopeSpansSlice, raw object) {
	spans, _ := s.list(raw, "spans", "spans")
	for _, old := range []string{"instrumentationLibrary", "instrumentation_library"} {
		if scope, ok := raw[old]; ok {
			raw["scope"] = scope
			delete(raw, old)
		}
	}
	head := s.clean(raw, scopeSpansMessage)
	one, ok := unmarshal(inScopes(head))
	if !ok {
		s.lost++
		one, _ = unmarshal(inScopes(object{}))
	}
	one.ResourceSpans().At(0).ScopeSpans().MoveAndAppendTo(sss)
	ss := sss.At(sss.Len() - 1)
	for _, raw := range spans {
		raw, ok := s.object(raw)
		if !ok {
			continue
		}
		one, ok := s.span(s.clean(raw, spanMessage))
		if !ok {
			s.lost++
			continue
		}
		one.ResourceSpans().At(0).ScopeSpans().At(0).Spans().MoveAndAppendTo(ss.Spans())
	}
}

// span decodes one span. Where a field of it cannot be read, the field goes, or the items of its list that
// cannot, and the rest stays; a span whose id cannot be read is of no use.
func (s *salvager) span(fields object) (ptrace.Traces, bool) {
	one, ok := unmarshalSpan(fields)
	if ok {
		return one, true
	}
	for _, id := range []string{"traceId", "trace_id", "spanId", "span_id"} {
		if value, there := fields[id]; there && !readable(id, value) {
			return one, false
		}
	}
	for key, value := range fields {
		if readable(key, value) {
			continue
		}
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			s.lost++
			delete(fields, key)
			continue
		}
		fields[key] = marshal(slices.DeleteFunc(items, func(item json.RawMessage) bool {
			bad := !readable(key, marshal([]json.RawMessage{item}))
			if bad {
				s.lost++
			}
			return bad
		}))
	}
	return unmarshalSpan(fields)
}

// readable reports whether a span with just this field can be decoded.
func readable(key string, value json.RawMessage) bool {
	_, ok := unmarshalSpan(object{key: value})
	return ok
}

func unmarshalSpan(fields object) (ptrace.Traces, bool) {
	return unmarshal(inScopes(object{"spans": listOf(fields)}))
}

// list takes a list out of an object, by either of its names.
func (s *salvager) list(from object, name, otherName string) (items []json.RawMessage, there bool) {
	for _, key := range []string{name, otherName} {
		raw, ok := from[key]
		if !ok {
			continue
		}
		delete(from, key)
		there = true
		var more []json.RawMessage
		if json.Unmarshal(raw, &more) != nil {
			s.lost++
		}
		items = append(items, more...)
	}
	return items, there
}

func (s *salvager) object(raw json.RawMessage) (object, bool) {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		s.lost++
		return nil, false
	}
	return o, true
}

func (s *salvager) unknown(rest object) { s.lost += len(rest) }

// clean returns the message without the fields that OTLP does not have, and with its ids in
// hexadecimal. What is no object of the kind is left to the unmarshaler, which refuses it.
func (s *salvager) clean(raw object, m message) object {
	cleaned := object{}
	for key, value := range raw {
		if string(value) == "null" {
			continue // protobuf's JSON: not set
		}
		field, known := m[key]
		if !known {
			s.lost++
			continue
		}
		cleaned[key] = s.cleanField(value, field)
	}
	return cleaned
}

func (s *salvager) cleanField(value json.RawMessage, f schemaField) json.RawMessage {
	switch {
	case f.id > 0:
		return hexID(value, f.id)
	case f.message == nil:
		return value
	case f.list:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return value
		}
		for i, item := range items {
			items[i] = s.cleanField(item, schemaField{message: f.message})
		}
		return marshal(items)
	default:
		var o object
		if json.Unmarshal(value, &o) != nil || o == nil {
			return value
		}
		return marshal(s.clean(o, f.message()))
	}
}

// hexID returns an id in hexadecimal: the JSON of protobuf libraries has bytes in base64, which OTLP
// does not.
func hexID(value json.RawMessage, size int) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil || len(text) == hex.EncodedLen(size) {
		return value
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if id, err := encoding.DecodeString(text); err == nil && len(id) == size {
			return marshal(hex.EncodeToString(id))
		}
	}
	return value
}

func inScopes(scope object) object {
	return object{"resourceSpans": listOf(object{"scopeSpans": listOf(scope)})}
}

func listOf(item object) json.RawMessage { return marshal([]object{item}) }

func unmarshal(o object) (ptrace.Traces, bool) {
	var u ptrace.JSONUnmarshaler
	td, err := u.UnmarshalTraces(marshal(o))
	return td, err == nil
}

// marshal writes what was read: it cannot fail.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("JSON that was read cannot be written: %v", err))
	}
	return raw
}
