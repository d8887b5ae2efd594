package hostnet

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Where there is no descriptor for all that a handle needs, it leaves none open.
func TestAHandleNeedsDescriptors(t *testing.T) {
	var own unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &own))
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	before := open()
	refusals := 0
	for limit := 3; ; limit++ { // behind the standard ones
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: own.Max}))
		h, err := NewHandle()
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &own))
		if err == nil {
			require.NoError(t, h.Close())
			break
		}
		require.ErrorIs(t, err, unix.EMFILE)
		require.Equal(t, before, open(), err)
		refusals++
	}
	require.GreaterOrEqual(t, refusals, 3)
	t.Logf("%d refusals", refusals)
}
