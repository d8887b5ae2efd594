package rc_test

import (
	"encoding/binary"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// Words that conversations are made of.

// wireOps are the operations that put packets on the wire and need no memory window.
var wireOps = []qp.Op{
	qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm, qp.OpRead, qp.OpCompareSwap, qp.OpFetchAdd,
}

// ask is work of A's on n bytes of B's memory, at the same offset in both regions.
func (p *pair) ask(op qp.Op, off, n int) qp.SendWR {
	if op.Atomic() {
		n = 8
	}
	return qp.SendWR{Op: op, SGE: p.a.sge(off, n), RemoteAddr: p.b.addr(off), RKey: p.b.mem.RKey(), Add: 1, Swap: 1}
}

// hear gives the host packets, in order.
func (h *host) hear(pkts ...*packet) {
	h.t.Helper()
	for _, pkt := range pkts {
		h.recv(pkt)
	}
}

// say is what the host answers to packets, in one turn.
func (h *host) say(pkts ...*packet) []*packet {
	h.t.Helper()
	h.hear(pkts...)
	return h.drain()
}

// word is a word of the host's memory.
func (h *host) word(off int) uint64 { return binary.NativeEndian.Uint64(h.bytes(off, 8)) }

// onto aims a request made by hand at the start of the host's memory.
func (h *host) onto(pkt *packet) *packet {
	pkt.RETH.VA, pkt.RETH.RKey = h.addr(0), uint32(h.mem.RKey())
	pkt.Atomic.VA, pkt.Atomic.RKey = h.addr(0), uint32(h.mem.RKey())
	return pkt
}

// withoutAckReq is the packet as one that asks for no acknowledgement.
func withoutAckReq(p *packet) *packet { p.AckReq = false; return p }

// withMSN is the answer with this message count.
func withMSN(p *packet, msn uint32) *packet { p.AETH.MSN = msn; return p }

// advance lets time pass to the host's deadline, and does what is due then.
func (p *pair) advance(h *host) {
	p.t.Helper()
	p.now = h.m.Deadline()
	h.m.Advance(p.now)
}

// psnsOf are those of packets.
func psnsOf(pkts []*packet) (list []bth.PSN) {
	for _, pkt := range pkts {
		list = append(list, pkt.PSN)
	}
	return list
}

// requireAck checks that the packets are one acknowledgement of a PSN with a message
// count and a cause.
func (h *host) requireAck(pkts []*packet, psn bth.PSN, msn uint32, why transport.Cause) {
	h.t.Helper()
	require.Len(h.t, pkts, 1)
	require.Equal(h.t, bth.RCAcknowledge, pkts[0].Opcode)
	require.Equal(h.t, bth.AETH{Syndrome: bth.ACKUnlimited, MSN: msn}, pkts[0].AETH)
	require.Equal(h.t, psn, pkts[0].PSN)
	require.Equal(h.t, why, pkts[0].why)
}
