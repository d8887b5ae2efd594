package udp

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/wire"
)

// Paths to one address share its peer, and addresses to which no path is left take no
// memory.
func TestPeers(t *testing.T) {
	l := open(t, nextLoopback())
	first, again := path(t, l, l), path(t, l, l)
	require.Same(t, first.Link, again.Link)
	for i := range byte(100) {
		require.NoError(t, l.Resolve(&wire.Path{Dst: netip.AddrFrom4([4]byte{127, 72, 0, i})}))
	}
	left := func() int {
		l.peers.mu.Lock()
		defer l.peers.mu.Unlock()
		return len(l.peers.byAddr)
	}
	for left() > 1 { // cleanups run in their own time
		runtime.GC()
	}
	require.Same(t, first.Link, path(t, l, l).Link)
	runtime.KeepAlive(again)
}
