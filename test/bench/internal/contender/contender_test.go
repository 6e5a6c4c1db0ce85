package contender_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/contender"
)

func TestEveryConfigIsOfAContender(t *testing.T) {
	used := map[string]bool{"common.yaml": true}
	names := map[string]bool{}
	for _, c := range contender.All {
		assert.FileExists(t, filepath.Join("../../configs", c.Config))
		assert.NotEmpty(t, c.What)
		assert.False(t, names[c.Name], "two contenders %s", c.Name)
		for _, against := range c.Against {
			assert.True(t, names[against], "%s is compared with %s, which does not come before it", c.Name, against)
		}
		names[c.Name], used[c.Config] = true, true
	}
	files, err := os.ReadDir("../../configs")
	require.NoError(t, err)
	for _, f := range files {
		assert.True(t, used[f.Name()], "no contender uses %s", f.Name())
	}
}

func TestFind(t *testing.T) {
	all, err := contender.Find(nil)
	require.NoError(t, err)
	assert.Len(t, all, len(contender.All))

	two, err := contender.Find([]string{contender.Stock, contender.Nop})
	require.NoError(t, err)
	assert.Equal(t, []string{contender.Nop, contender.Stock}, []string{two[0].Name, two[1].Name})

	_, err = contender.Find([]string{"nop", "nope"})
	require.ErrorContains(t, err, `no contender "nope": choose from [nop run_id`)
}
