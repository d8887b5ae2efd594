package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// requests of A for B's memory.
func readOf(b *host, psn bth.PSN) *packet {
	return &packet{Packet: bth.Packet{
		Opcode: bth.RCReadRequest, PKey: bth.DefaultPKey, DestQP: 0x22, PSN: psn, AckReq: true,
		RETH: bth.RETH{VA: b.addr(0), RKey: uint32(b.mem.RKey()), Len: 8},
	}}
}

func addTo(b *host, psn bth.PSN) *packet {
	return &packet{Packet: bth.Packet{
		Opcode: bth.RCFetchAdd, PKey: bth.DefaultPKey, DestQP: 0x22, PSN: psn, AckReq: true,
		Atomic: bth.AtomicETH{VA: b.addr(0), RKey: uint32(b.mem.RKey()), SwapAdd: 1},
	}}
}

// A duplicate that arrives late, when its READ or atomic was answered long ago, and
// in the same turn as the next request, takes no resource from that: the peer has
// only one outstanding, as it may (9.7.4.1.5).
func TestLateDuplicateTakesNoResource(t *testing.T) {
	for name, request := range map[string]func(*host, bth.PSN) *packet{"READ": readOf, "atomic": addTo} {
		o := defaults()
		o.response = 1
		p := newPair(t, o)
		require.Equal(t, transport.Executed, p.b.recv(request(p.b, 100)).Action, name)
		require.Len(t, p.b.drain(), 1, name)
		require.Equal(t, transport.Repeated, p.b.recv(request(p.b, 100)).Action, name)
		require.Equal(t, transport.Executed, p.b.recv(request(p.b, 101)).Action, name)
		require.Equal(t, qp.StateRTS, p.b.m.State(), name)
		out := p.b.drain()
		require.Len(t, out, 1, "%s: one answer, to the new request", name)
		require.Equal(t, bth.PSN(101), out[0].PSN, name)
		require.Nil(t, p.b.next(), name)
	}
}

// A request that was never answered does hold its resource, however often it comes.
func TestUnansweredDuplicateKeepsItsResource(t *testing.T) {
	o := defaults()
	o.response = 1
	p := newPair(t, o)
	p.b.recv(readOf(p.b, 100))
	require.Equal(t, transport.Repeated, p.b.recv(readOf(p.b, 100)).Action)
	require.Equal(t, transport.RuleTooManyReads, p.b.recv(readOf(p.b, 101)).Rule)
}
