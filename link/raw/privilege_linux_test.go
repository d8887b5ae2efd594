package raw

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Without CAP_NET_RAW the error says what is missing, and nothing is left open.
func TestOpenWithoutPrivilege(t *testing.T) {
	w := newNetwork(t, 1500)
	w.a.do(func() {
		before := openFiles(t)
		var err error
		withoutNetRaw(t, func() { _, err = Open("va") })
		require.ErrorIs(t, err, unix.EPERM)
		require.ErrorContains(t, err, "CAP_NET_RAW")
		t.Log(err)
		require.LessOrEqual(t, openFiles(t), before)
	})
}

// withoutNetRaw calls f on this thread, which must be locked, without the capability.
func withoutNetRaw(t *testing.T, f func()) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &all[0]))
	less := all
	less[0].Effective &^= 1 << unix.CAP_NET_RAW
	require.NoError(t, unix.Capset(&header, &less[0]))
	defer func() { require.NoError(t, unix.Capset(&header, &all[0])) }()
	f()
}
