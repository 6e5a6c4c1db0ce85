package runfileexporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/runspan/runspan/internal/tracefile"
)

// A log that lets one line an hour pass of each message, as that of all configurations does, names each
// reader that has lost something.
func TestDeletionsInASampledLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	set := componenttest.NewNopTelemetrySettings()
	set.Logger = zap.New(zapcore.NewSamplerWithOptions(core, time.Hour, 1, 0))
	tel, err := newTelemetry(set, "/traces/traces.jsonl")
	require.NoError(t, err)
	t.Cleanup(tel.close)
	for range 100 {
		tel.Deleted(tracefile.Deletion{Path: "/traces/1.jsonl", Bytes: 100, Reason: tracefile.DeletedForAge})
	}
	tel.Deleted(tracefile.Deletion{Path: "/traces/2.jsonl", Bytes: 100, Unread: map[string]int64{"run_file/a": 1}})
	tel.Deleted(tracefile.Deletion{Path: "/traces/3.jsonl", Bytes: 100, Unread: map[string]int64{"run_file/a": 2, "run_file/b": 3}})
	assert.Equal(t, 1, logs.FilterMessage("Deleted a file that is past its retention").Len())
	for reader, unread := range map[string]int64{"run_file/a": 1, "run_file/b": 3} {
		lines := logs.FilterLevelExact(zap.WarnLevel).FilterField(zap.String("reader", reader)).All()
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0].Message, reader)
		assert.Equal(t, unread, lines[0].ContextMap()["unread_bytes"])
	}
}
