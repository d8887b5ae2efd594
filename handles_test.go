package roce_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// A QP on a closed CQ would lose its completions without a word.
func TestClosedCQTakesNoQP(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	open, err := p.a.dev.CreateCQ(1)
	require.NoError(t, err)
	closed, err := p.a.dev.CreateCQ(1)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, cfg := range []roce.QPConfig{{SendCQ: closed}, {SendCQ: open, RecvCQ: closed}} {
		_, err = p.a.pd.CreateQP(cfg)
		require.ErrorIs(t, err, net.ErrClosed)
	}
	require.NoError(t, open.Close(), "nothing uses it")
}

// What lies behind a buffer's length was not registered, though the slice holds it.
func TestSGEEndsWithItsRegion(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	region, err := p.a.pd.RegMR(make([]byte, 8, 64), 0)
	require.NoError(t, err)
	require.EqualValues(t, 8, region.SGE(0, 8).Len)
	require.Panics(t, func() { region.SGE(0, 9) })
}

// An address with a zone, as the peer's tools may show it, is that without.
func TestConnectIgnoresTheZone(t *testing.T) {
	w := simnet.New(1)
	a, b := newEnd(t, w, "a", "fe80::1", roce.QPConfig{}), newEnd(t, w, "b", "fe80::2", roce.QPConfig{})
	p := &pair{t: t, world: w, a: a, b: b}
	info := b.qp.Info()
	info.GID = netip.MustParseAddr("fe80::2%eth0")
	require.NoError(t, a.qp.Connect(info))
	require.NoError(t, b.qp.Connect(a.qp.Info()))
	b.recv(1, 0, 8)
	a.send(roce.SendWR{Op: roce.OpSend, SGE: a.mr.SGE(0, 8), Flags: roce.Signaled})
	require.Equal(t, roce.StatusSuccess, p.wait(a, 1)[0].Status)
}
