package udp

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link"
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

// A closed link that has sent is garbage, though it remembers its peers.
func TestClosedLinkIsGarbage(t *testing.T) {
	freed := make(chan struct{})
	func() {
		l, err := Open(nextLoopback())
		require.NoError(t, err)
		runtime.AddCleanup(l, func(freed chan struct{}) { close(freed) }, freed)
		var slot link.Slot
		l.Queue().Reserve(path(t, l, l), 12, nil, 0, false, &slot)
		_, err = l.Queue().Flush()
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}()
	for range 1000 {
		runtime.GC() // cleanups run in their own time
		select {
		case <-freed:
			return
		default:
		}
	}
	t.Fatal("something keeps the link alive")
}
