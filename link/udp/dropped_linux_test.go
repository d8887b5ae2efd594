package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Any number of datagrams that are dropped leaves room for those that are not, though
// nothing is released where nothing was received.
func TestDroppedDatagramsTakeNoRoom(t *testing.T) {
	l := open(t, nextLoopback())
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.addr, wire.Port)))
	require.NoError(t, err)
	defer c.Close()
	rx := make([]link.Rx, 32)
	for range 3 * rxFrames {
		_, err := c.Write(make([]byte, 10_000))
		require.NoError(t, err)
		require.Zero(t, l.queue.Recv(rx))
	}
	_, err = c.Write([]byte{7})
	require.NoError(t, err)
	require.Equal(t, 1, l.queue.Recv(rx))
	require.Equal(t, []byte{7}, rx[0].Frag[0])
	require.Equal(t, uint64(3*rxFrames), l.Stats().TooLong)
}
