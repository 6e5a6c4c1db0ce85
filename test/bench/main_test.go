package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/limits"
	"github.com/runspan/runspan/test/bench/internal/measure"
)

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-only", "nop,file", "-curves", "all", "-spans", "1000"})
	require.NoError(t, err)
	assert.Len(t, o.contenders, 2)
	assert.Equal(t, measure.Axes(), o.curves)
	assert.Equal(t, 1000, o.workload.Spans)

	for message, args := range map[string][]string{
		`no contender "nope"`:             {"-only", "nope"},
		"-rounds 0: must be at least 1":   {"-rounds", "0"},
		"unexpected argument \"nop\"":     {"nop"},
		"none may be negative":            {"-rate", "-1"},
		`run named on "moon"`:             {"-run-named-on", "moon"},
		"attributes a span: 0":            {"-attributes", "0"},
		"flag provided but not defined":   {"-fast"},
		"-clients 0: must be at least 1":  {"-clients", "0"},
		"-slices -1: must be at least 1":  {"-slices", "-1"},
		"-processor-rounds -1: none may ": {"-processor-rounds", "-1"},
	} {
		_, err := parse(args)
		require.ErrorContains(t, err, message)
	}
}

func TestWhichContendersALimitIsAbout(t *testing.T) {
	l := limits.Limit{Ratio: "cpu run_id/stock_equivalent"}
	assert.True(t, about(l, "run_id"))
	assert.True(t, about(l, contender.Stock))
	assert.False(t, about(l, "file"))
	assert.False(t, about(limits.Limit{Ratio: "memory fanout_disk_gzip/nop"}, "fanout_disk"))
	assert.True(t, about(limits.Limit{Ratio: "processor cpu run_id/transform+groupbyattrs, run named on mixed"}, "run_id"))
}
