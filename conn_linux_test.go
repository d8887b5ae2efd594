package roce_test

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
)

var hosts atomic.Uint32

// loopback opens a link on a loopback address that no other test uses: the process
// ID is part of it.
func loopback(t testing.TB, opts ...udp.Option) link.Link {
	t.Helper()
	pid := os.Getpid()
	l, err := udp.Open(netip.AddrFrom4([4]byte{127, byte(pid>>8)&0x3f | 0x80, byte(pid), byte(hosts.Add(1))}), opts...)
	require.NoError(t, err)
	return l
}

func newUDPConns(t testing.TB, opts ...roce.ConnectOption) (a, b *connEnd) {
	t.Helper()
	a, b = newConnEnd(t, loopback(t)), newConnEnd(t, loopback(t))
	join(t, a, b, opts...)
	return a, b
}

func TestConnOverUDP(t *testing.T) {
	a, b := newUDPConns(t)
	connOperations(t, a, b)
}

// The application writes to its memory, tells the peer by a channel, and the peer
// READs: under the race detector this proves the edge that stands for the network.
func TestReadSeesWhatWasWritten(t *testing.T) {
	a, b := newUDPConns(t)
	ctx := testContext(t)
	written, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		for i := range 20 {
			fill(b.mr.Bytes()[:5000], i)
			written <- struct{}{}
			<-read
		}
	}()
	for i := range 20 {
		<-written
		require.NoError(t, a.conn.Read(ctx, a.mr.SGE(0, 5000), b.mr.Remote()))
		require.Equal(t, fill(make([]byte, 5000), i), a.mr.Bytes()[:5000])
		read <- struct{}{}
	}
	<-written
}

// Both ends of a connection on one device: it talks to itself through the kernel.
func TestOneDeviceWithItself(t *testing.T) {
	a := newConnEnd(t, loopback(t))
	conn, err := a.pd.CreateConn(roce.ConnConfig{})
	require.NoError(t, err)
	b := &connEnd{dev: a.dev, pd: a.pd, conn: conn, mr: a.mr}
	join(t, a, b)
	other, err := a.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(t, err)
	b.mr = other
	connOperations(t, a, b)
}

func TestConnOverUDPIPv6(t *testing.T) {
	l, err := udp.Open(netip.IPv6Loopback())
	if errors.Is(err, udp.ErrPortInUse) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skipf("no link on ::1: %v", err)
	}
	require.NoError(t, err)
	a := newConnEnd(t, l)
	conn, err := a.pd.CreateConn(roce.ConnConfig{})
	require.NoError(t, err)
	b := &connEnd{dev: a.dev, pd: a.pd, conn: conn}
	b.mr, err = a.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(t, err)
	join(t, a, b)
	connOperations(t, a, b)
}

// A device that never sleeps does the same.
func TestConnOfBusyDevices(t *testing.T) {
	a, b := newConnEnd(t, loopback(t), roce.Busy()), newConnEnd(t, loopback(t), roce.Busy())
	join(t, a, b)
	connOperations(t, a, b)
}
