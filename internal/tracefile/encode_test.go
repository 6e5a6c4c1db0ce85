package tracefile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestEncodeEqualsStockByteForByte(t *testing.T) {
	for name, td := range corpora(t) {
		t.Run(name, func(t *testing.T) {
			var stock ptrace.JSONMarshaler
			want, err := stock.MarshalTraces(td)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(AppendTraces(nil, td)))
		})
	}
}
