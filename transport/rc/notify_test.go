package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// TestNotify proves the form of a congestion notification, and that it takes no PSN.
func TestNotify(t *testing.T) {
	p := newPair(t, defaults())
	var o rc.Out
	before := p.a.m.Stats().PacketsSent
	p.a.m.Notify(&o)
	to := p.a.m.Attr().DestQPN
	want := [28]byte{0: 0x81, 2: 0xff, 3: 0xff, 4: 0x40, 5: byte(to >> 16), 6: byte(to >> 8), 7: byte(to)}
	require.Equal(t, want[:], o.Hdr[:o.HdrLen])
	require.Zero(t, o.Len)
	require.Empty(t, o.Pay)
	require.Zero(t, o.Pad)
	require.Equal(t, transport.ClassCNP, o.Class)
	require.Equal(t, transport.CauseCNP, o.Why)
	require.Equal(t, bth.CNP, o.Opcode)
	require.Equal(t, before+1, p.a.m.Stats().PacketsSent)
	require.False(t, p.a.m.Next(p.now, transport.AllClasses, &o), "nothing is to be sent because of it")
}
