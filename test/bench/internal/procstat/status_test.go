package procstat

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const statusFile = "Name:\totelcol:1\nVmPeak:\t 1234 kB\nVmHWM:\t   61234 kB\nThreads:\t9\n"

func TestKibibytes(t *testing.T) {
	got, err := kibibytes([]byte(statusFile), "VmHWM")
	require.NoError(t, err)
	assert.Equal(t, uint64(61234*1024), got)

	for file, message := range map[string]string{
		"Name:\tx\n":              "no line VmHWM",
		"VmHWM:\t12 MB\n":         "expected a number of kB",
		"VmHWM:\tmany kB\n":       "expected a number of kB",
		"VmHWM:\t-1 kB\n":         "expected a number of kB",
		"XVmHWM:\t1 kB\n":         "no line VmHWM",
		"":                        "no line VmHWM",
		"VmHWM:\t1\nVmHWM:\t1 kB": "expected a number of kB",
	} {
		_, err := kibibytes([]byte(file), "VmHWM")
		require.ErrorContains(t, err, message, file)
	}
}

func TestProcessor(t *testing.T) {
	assert.Equal(t, "Some CPU @ 2.00GHz", processor([]byte("processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\n\nmodel name\t: B\n")))
	assert.NotEmpty(t, processor(nil))
}

func TestKernelVersionNamesNobody(t *testing.T) {
	assert.Equal(t, "6.8.0", kernelVersion("6.8.0-1021-somecloud\n"))
}
