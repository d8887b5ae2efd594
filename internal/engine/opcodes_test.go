package engine

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// W09: what an RC queue pair in RTS does with each of the 256 opcodes, at the expected PSN,
// with a valid ICRC and every length. Other services are dropped in silence, and so
// is what has no name; reserved and unsupported operations of its own are refused with NAK
// invalid request. Counters tell them apart.
func TestWhatEveryOpcodeGets(t *testing.T) {
	r := newRig(t)
	for i := range 256 {
		op := bth.Opcode(i)
		for n := bth.BTHLen + wire.ICRCLen; n <= 80; n += 4 {
			b := make([]byte, n)
			b[0] = byte(op)
			binary.BigEndian.PutUint16(b[2:], bth.DefaultPKey)
			binary.BigEndian.PutUint32(b[4:], r.qb.QPN())
			binary.BigEndian.PutUint32(b[8:], uint32(r.b.expected(r.qb))|0x80000000)
			seal(&r.meta, b)
			sent := r.b.shard.counters.TxPackets
			rule := r.inject(t, r.meta, b)
			r.settle(t)
			answers := r.b.shard.counters.TxPackets - sent
			requireFate(t, op, n, rule, answers)
			if op.Transport() == bth.TransportRC {
				r.reconnect(t) // it may have failed, or gone on to the next PSN
			} else {
				require.Equal(t, qp.StateRTS, r.qb.State(), "opcode %#x", i)
			}
		}
	}
}

// requireFate checks which rule decided, and how many packets answered.
func requireFate(t *testing.T, op bth.Opcode, n int, rule transport.Rule, answers uint64) {
	t.Helper()
	flags := op.Flags()
	supported := bth.Send | bth.Write | bth.Read | bth.Atomic
	switch {
	case op == bth.CNP:
		require.Contains(t, []transport.Rule{transport.RuleCNPIgnored, transport.RuleShort}, rule, "CNP of %d bytes", n)
		require.Zero(t, answers)
	case op.Transport() != bth.TransportRC && op.Known():
		require.Equal(t, transport.RuleServiceType, rule, "opcode %#x of %d bytes", uint8(op), n)
		require.Zero(t, answers)
	case op.Transport() != bth.TransportRC:
		require.Equal(t, transport.RuleOpcode, rule, "opcode %#x of %d bytes", uint8(op), n)
		require.Zero(t, answers)
	case flags == 0:
		require.Equal(t, transport.RuleReserved, rule, "opcode %#x of %d bytes", uint8(op), n)
		require.EqualValues(t, 1, answers, "opcode %#x of %d bytes", uint8(op), n)
	case n < op.HeaderLen()+wire.ICRCLen:
		require.Equal(t, transport.RuleShort, rule, "%s of %d bytes", op, n)
		require.Zero(t, answers)
	case op.Is(bth.Response):
		require.Equal(t, transport.RuleNothingAsked, rule, "%s of %d bytes", op, n)
		require.Zero(t, answers)
	case flags&supported == 0:
		require.Equal(t, transport.RuleUnsupported, rule, "%s of %d bytes", op, n)
		require.EqualValues(t, 1, answers)
	default:
		require.EqualValues(t, 1, answers, "%s of %d bytes: %s", op, n, rule)
	}
}
