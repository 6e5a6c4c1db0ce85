package tracefile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	foreignTrace = `"traceId":"0102030405060708090a0b0c0d0e0f10"`
	foreignSpan  = `"spanId":"1112131415161718"`
)

// foreignLines are lines as other programs write them, and the same in our own form.
var foreignLines = []struct {
	name, line, want string
	lost             int
}{
	{
		name: "white space and another order of keys",
		line: ` { "resourceSpans" : [ { "scopeSpans" : [ { "spans" : [ { "name" : "a" , ` + foreignTrace + ` } ] , "scope" : { } } ] } ] } `,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{` + foreignTrace + `,"name":"a","status":{}}]}]}]}`,
	},
	{
		name: "numbers as numbers, enums by name, protobuf's names of fields",
		line: `{"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"0102030405060708090a0b0c0d0e0f10","kind":"SPAN_KIND_SERVER",` +
			`"start_time_unix_nano":1700000000000000000,"attributes":[{"key":"k","value":{"int_value":7}}],` +
			`"status":{"code":"STATUS_CODE_ERROR"}}]}]}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{` + foreignTrace + `,"kind":2,` +
			`"startTimeUnixNano":"1700000000000000000","attributes":[{"key":"k","value":{"intValue":"7"}}],"status":{"code":2}}]}]}]}`,
	},
	{
		name: "the name of scopes before OTLP 0.15",
		line: `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},` +
			`"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"lib","version":"1"},"spans":[{"name":"a"}]}]}]}`,
		want: `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},` +
			`"scopeSpans":[{"scope":{"name":"lib","version":"1"},"spans":[{"name":"a","status":{}}]}]}]}`,
	},
	{
		name: "ids in base64, as the JSON of protobuf libraries has them",
		line: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AQIDBAUGBwgJCgsMDQ4PEA==","spanId":"ERITFBUWFxg=","name":"a",` +
			`"links":[{"traceId":"AQIDBAUGBwgJCgsMDQ4PEA==","spanId":"ERITFBUWFxg"}]}]}]}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{` + foreignTrace + `,` + foreignSpan + `,"name":"a",` +
			`"links":[{` + foreignTrace + `,` + foreignSpan + `}],"status":{}}]}]}]}`,
	},
	{
		name: "fields that OTLP does not have",
		line: `{"resourceSpans":[{"resource":{"x":1},"y":[],"scopeSpans":[{"spans":[{"name":"a","z":{"q":1},` +
			`"events":[{"name":"e","w":1}],"attributes":[{"key":"k","value":{"stringValue":"v","v":1}}],"status":{"u":1}}]}]}],"t":1}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"name":"a",` +
			`"attributes":[{"key":"k","value":{"stringValue":"v"}}],"events":[{"name":"e"}],"status":{}}]}]}]}`,
		lost: 7,
	},
	{
		name: "one bad span among good ones",
		line: `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s"},"spans":[{"name":"a"},{"traceId":"xyz","name":"b"},{"name":"c"},7,null]}]}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"s"},"spans":[{"name":"a","status":{}},{"name":"c","status":{}}]}]}]}`,
		lost: 3,
	},
	{
		name: "a resource, a scope and lists that are none",
		line: `{"resourceSpans":[{"resource":7,"scopeSpans":[{"scope":"s","spans":[{"name":"a"}]},{"spans":"many"}]},"x",{"scopeSpans":7}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"name":"a","status":{}}]},{"scope":{}}]},{"resource":{}}]}`,
		lost: 5,
	},
	{
		name: "null for what is not set",
		line: `{"resourceSpans":[{"resource":null,"schemaUrl":null,"scopeSpans":[{"scope":null,"spans":[{"traceId":null,"parentSpanId":null,` +
			`"name":"a","kind":null,"flags":null,"attributes":null,"status":null,"events":[{"name":"e","timeUnixNano":null}]}]}]}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"name":"a","events":[{"name":"e"}],"status":{}}]}]}]}`,
	},
	{
		name: "values of the wrong kind",
		line: `{"resourceSpans":[{"scopeSpans":[{"spans":[{` + foreignTrace + `,"name":"a","kind":"client","parentSpanId":"0x1",` +
			`"attributes":[{"key":"b","value":{"boolValue":"true"}},{"key":"k","value":{"stringValue":"v"}},7],` +
			`"events":[{"name":"e"},{"name":5}],"status":{"code":"2","message":"m"}}]}]}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{` + foreignTrace + `,"name":"a",` +
			`"attributes":[{"key":"k","value":{"stringValue":"v"}}],"events":[{"name":"e"}],"status":{}}]}]}]}`,
		lost: 6,
	},
	{
		name: "both names at once",
		line: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}],"instrumentationLibrarySpans":[{"spans":[{"name":"b"}]}]}],"resource_spans":[{}]}`,
		want: `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"name":"a","status":{}}]},{"scope":{},"spans":[{"name":"b","status":{}}]}]},{"resource":{}}]}`,
	},
}

func TestDecode_ForeignLines(t *testing.T) {
	for _, tt := range foreignLines {
		t.Run(tt.name, func(t *testing.T) {
			assert.False(t, isCanonical([]byte(tt.line)))
			td, lost, err := decodedLine([]byte(tt.line))
			require.NoError(t, err)
			assert.Equal(t, tt.lost, lost)
			assert.Equal(t, tt.want, string(AppendTraces(nil, td)))
		})
	}
}

// The list of OTLP's fields must have every one that the stock unmarshaler knows: a line with all of
// them and one unknown field loses that one only.
func TestSalvage_KnowsEveryField(t *testing.T) {
	for seed := range uint64(500) {
		td := newGenerator(seed).traces()
		line := string(AppendTraces(nil, td))
		if !strings.HasPrefix(line, `{"resourceSpans":`) {
			continue
		}
		got, lost, err := decodedLine([]byte(`{"unknown":[],` + line[1:]))
		require.NoError(t, err)
		require.Equal(t, 1, lost, line)
		var stock ptrace.JSONUnmarshaler
		want, err := stock.UnmarshalTraces([]byte(line))
		require.NoError(t, err)
		require.Equal(t, wire(t, want), wire(t, got), line)
	}
}
