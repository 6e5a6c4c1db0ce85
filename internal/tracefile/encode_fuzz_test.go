package tracefile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// dirty is a buffer with something in it, and garbage behind that.
func dirty() []byte {
	buf := []byte(strings.Repeat(`garbage",{[`, 1000))
	return buf[:3]
}

func checkEncoding(t *testing.T, td ptrace.Traces) {
	t.Helper()
	before := wire(t, td)
	out := AppendTraces(dirty(), td)
	require.Equal(t, "gar", string(out[:3]))
	line := out[3:]
	assertKindToReaders(t, line)
	require.Equal(t, string(line), string(AppendTraces(nil, td)), "depends on the buffer")
	require.Equal(t, before, wire(t, td), "the traces were changed")

	var e Encoder
	lines, err := e.Encode(td)
	require.NoError(t, err)
	if unmarshaled(t, line).SpanCount() == 0 {
		assert.Empty(t, lines)
	} else {
		require.Len(t, lines, 1)
		assert.Equal(t, string(line)+"\n", string(lines[0]))
	}
	if e.Flattened() == 0 {
		requireSameMeaning(t, td, line)
	} else {
		unmarshaled(t, line)
	}
}

// FuzzEncode feeds the encoder with anything that pdata decodes from protobuf.
func FuzzEncode(f *testing.F) {
	var m ptrace.ProtoMarshaler
	for seed := range uint64(20) {
		wire, err := m.MarshalTraces(newGenerator(seed).traces())
		require.NoError(f, err)
		f.Add(wire)
	}
	f.Add(deprecatedTraces())
	f.Add(strindexTraces())
	f.Add(nestedTraces(maxDepth))
	f.Add(nestedTraces(maxDepth + 1))
	f.Add(nestedTraces(maxTextDepth + 10))
	f.Fuzz(func(t *testing.T, wire []byte) {
		var u ptrace.ProtoUnmarshaler
		td, err := u.UnmarshalTraces(wire)
		if err != nil {
			return
		}
		checkEncoding(t, td)
	})
}

// FuzzEncodeGenerated does the same with traces that have every field.
func FuzzEncodeGenerated(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkEncoding(t, newGenerator(seed).traces())
	})
}

// FuzzString checks one string against the standard library, at every offset to a word's border.
func FuzzString(f *testing.F) {
	for seed := range uint64(200) {
		g := newGenerator(seed)
		f.Add(g.text() + g.text())
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i := range min(9, len(s)+1) {
			part := s[i:]
			got := appendString(dirty()[:0], part)
			var back string
			require.NoError(t, json.Unmarshal(got, &back), "%q", got)
			require.Equal(t, string([]rune(part)), back)
			require.Equal(t, string(got), string(appendString(nil, part)))
		}
	})
}

func FuzzDouble(f *testing.F) {
	g := newGenerator(1)
	for range 200 {
		f.Add(g.double())
	}
	f.Fuzz(func(t *testing.T, d float64) {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.Attributes().PutDouble("d", d)
		requireSameMeaning(t, td, AppendTraces(nil, td))
	})
}

func FuzzInt(f *testing.F) {
	for shift := range 64 {
		f.Add(int64(1) << shift)
		f.Add(int64(-1) << shift)
		f.Add(int64(1)<<shift - 1)
	}
	n := int64(1)
	for range 18 {
		n *= 10
		f.Add(n)
		f.Add(n - 1)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.Attributes().PutInt("n", n)
		span.SetStartTimestamp(1)
		requireSameMeaning(t, td, AppendTraces(nil, td))
	})
}
