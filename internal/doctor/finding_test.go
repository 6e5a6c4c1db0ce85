package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Codes go up along the way, so that the first finding is the one that hides the others; none is one
// that other commands have.
func TestFindingsAreInOrder(t *testing.T) {
	names := map[string]bool{}
	code := 10
	for _, f := range Findings() {
		assert.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		assert.GreaterOrEqual(t, f.Code, code, f.Name)
		code = f.Code
		assert.NotContains(t, f.Means+f.Change, "|", "it would end a column of the table")
	}
}
