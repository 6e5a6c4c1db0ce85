package tracefile

import (
	"reflect"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// OTLP has three fields that pdata keeps, and its JSON marshaler writes, but that no method of pdata
// shows. They are read by reflection: two only where the field beside them is empty, one once a
// resource, so that no ordinary span pays for them.

// migrated returns td, or a copy of it where the spans of a resource stand in the list that OTLP
// used before 0.15 (`deprecated_scope_spans`). The collector's receivers move them when they decode;
// ptrace.ProtoUnmarshaler alone does not.
func migrated(td ptrace.Traces) ptrace.Traces {
	rss := td.ResourceSpans()
	for i := range rss.Len() {
		if deprecated := hidden(rss.At(i)).FieldByName("DeprecatedScopeSpans"); deprecated.IsValid() && deprecated.Len() > 0 {
			return migrate(td)
		}
	}
	return td
}

func migrate(td ptrace.Traces) ptrace.Traces {
	var m ptrace.ProtoMarshaler
	wire, err := m.MarshalTraces(td)
	request := ptraceotlp.NewExportRequest()
	if err != nil || request.UnmarshalProto(wire) != nil {
		// pdata reads what it wrote; if it ever did not, the fields that it shows are still written.
		return td
	}
	return request.Traces()
}

// keyStrindex is the reference to a string table that may stand in for the key of entry i.
func keyStrindex(m pcommon.Map, i int) int32 {
	return number(hidden(m).Index(i).FieldByName("KeyStrindex"))
}

// appendEmptyValue appends a value without a type that pdata knows: an empty one, or a reference to
// a string table.
func appendEmptyValue(dst []byte, v pcommon.Value) []byte {
	start := len(dst)
	oneof := hidden(v).FieldByName("Value")
	if oneof.IsValid() && !oneof.IsNil() {
		if strindex := reflect.Indirect(oneof.Elem()).FieldByName("StringValueStrindex"); strindex.IsValid() {
			dst = strconv.AppendInt(append(dst, `,"stringValueStrindex":`...), strindex.Int(), 10)
		}
	}
	return closeObject(dst, start)
}

// hidden is what a pdata wrapper points to with its first field.
func hidden(wrapper any) reflect.Value {
	return reflect.ValueOf(wrapper).Field(0).Elem()
}

func number(v reflect.Value) int32 {
	if !v.IsValid() {
		return 0
	}
	return int32(v.Int())
}
