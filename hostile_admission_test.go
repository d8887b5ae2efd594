package roce_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/transport"
)

// everySyndrome are one of each kind, reserved ones included.
var everySyndrome = []bth.Syndrome{
	bth.ACKUnlimited, bth.ACKCredits(0), bth.RNRNAK(1), bth.RNRNAK(0), 0x40, 0x5f, bth.NAKSequence,
	bth.NAKInvalidRequest, bth.NAKRemoteAccess, bth.NAKRemoteOperation, bth.NAKInvalidRD, 0x65, 0x7f, 0xff,
}

// effective are packets each of which would have an effect if it were the enemy's: the
// victim has a receive posted, grants every right, and waits for answers to a WRITE, a
// READ and an atomic.
func (s *siege) effective() map[string]*bth.Packet {
	psn := s.firstPSN()
	ask := func(op bth.Opcode, opts ...bthtest.Option) *bth.Packet {
		return bthtest.New(op, append([]bthtest.Option{bthtest.PSN(enemyPSN), bthtest.AckReq}, opts...)...)
	}
	m := map[string]*bth.Packet{
		"SEND":         ask(bth.RCSendOnly, bthtest.Pattern(8)),
		"WRITE":        ask(bth.RCWriteOnly, s.region(0, 8), bthtest.Pattern(8)),
		"WRITE imm":    ask(bth.RCWriteOnlyImm, s.region(0, 8), bthtest.Pattern(8)),
		"READ":         ask(bth.RCReadRequest, s.region(0, 8)),
		"atomic":       ask(bth.RCFetchAdd, s.word(0)),
		"gap":          bthtest.New(bth.RCSendOnly, bthtest.PSN(enemyPSN.Add(1))),
		"old SEND":     bthtest.New(bth.RCSendOnly, bthtest.PSN(enemyPSN.Sub(1))),
		"atomic WRITE": ask(bth.RCAtomicWrite, bthtest.Pattern(8)),
		"READ data":    bthtest.New(bth.RCReadRespOnly, bthtest.PSN(psn.Add(1)), bthtest.AETH(bth.ACKUnlimited, 2), bthtest.Pattern(8)),
		"atomic's ack": bthtest.New(bth.RCAtomicAck, bthtest.PSN(psn.Add(2)), bthtest.AETH(bth.ACKUnlimited, 3), bthtest.AtomicAck(7)),
		"CNP":          bthtest.New(bth.CNP, bthtest.BECN),
	}
	for _, y := range everySyndrome {
		m[fmt.Sprintf("syndrome 0x%02x", uint8(y))] = bthtest.New(bth.RCAcknowledge, bthtest.PSN(psn), bthtest.AETH(y, 1))
	}
	return m
}

// Only packets of the configured peer, on its VLAN and in its partition, reach a
// connected queue pair. Others are counted under the rule that says what is wrong with
// them, change nothing, and are answered by nothing, whatever they are.
func TestOnlyThePeerReachesAQueuePair(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(s *siege, m *link.Meta, p *bth.Packet)
		want transport.Rule
	}{
		"a stranger's":           {func(_ *siege, m *link.Meta, _ *bth.Packet) { m.Src = strangerAddr }, transport.RuleAddress},
		"of another family":      {func(_ *siege, m *link.Meta, _ *bth.Packet) { m.Src = netip.MustParseAddr("fd00::2") }, transport.RuleAddress},
		"for another queue pair": {func(s *siege, _ *link.Meta, p *bth.Packet) { p.DestQP = s.bystander.qp.QPN() }, transport.RuleAddress},
		"for no queue pair":      {func(s *siege, _ *link.Meta, p *bth.Packet) { p.DestQP ^= 0x800000 }, transport.RuleNoQP},
		"for QP0":                {func(_ *siege, _ *link.Meta, p *bth.Packet) { p.DestQP = 0 }, transport.RuleManagementQP},
		"for the managers' QP":   {func(_ *siege, _ *link.Meta, p *bth.Packet) { p.DestQP = 1 }, transport.RuleManagementQP},
		"of another VLAN":        {func(_ *siege, m *link.Meta, _ *bth.Packet) { m.VLAN = 5 }, transport.RuleVLAN},
		"of another partition":   {func(_ *siege, _ *link.Meta, p *bth.Packet) { p.PKey = 0x8001 }, transport.RulePKey},
		"of another version":     {func(_ *siege, _ *link.Meta, p *bth.Packet) { p.TVer = 1 }, transport.RuleVersion},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t)
			s.victim.recv(1, 0, 64)
			there := roce.SendWR{RemoteAddr: 0x1000, RKey: 1, SGE: s.victim.mr.SGE(64, 8), Flags: roce.Signaled}
			for _, op := range []roce.Op{roce.OpWrite, roce.OpRead, roce.OpFetchAdd} {
				there.Op = op
				s.victim.send(there)
			}
			s.settle()
			require.Len(t, s.heard(), 3)
			memory, stats, sent := bytes.Clone(s.victim.mr.Bytes()), s.victim.qp.Stats(), s.tally.sent
			kinds := s.effective()
			before := s.tally.rules[c.want]
			for kind, p := range kinds {
				m := enemyMeta()
				p.DestQP = s.victim.qp.QPN()
				c.edit(s, &m, p)
				s.sealed(s.stranger, m, p).fire()
				s.settle()
				before++
				require.Equal(t, before, s.tally.rules[c.want], "%s: counted as %q", kind, c.want)
			}
			require.Equal(t, sent, s.tally.sent, "nothing is answered")
			require.Empty(t, s.heard())
			require.Zero(t, s.stranger.Queue().Recv(s.rx[:]))
			require.Equal(t, stats, s.victim.qp.Stats())
			require.Equal(t, memory, s.victim.mr.Bytes())
			require.Equal(t, roce.StateRTS, s.victim.qp.State())

			// The enemy's own have their effect.
			psn := s.firstPSN()
			fire(
				s.forged(bth.RCAcknowledge, bthtest.PSN(psn), bthtest.AETH(bth.ACKUnlimited, 1)),
				s.forged(bth.RCReadRespOnly, bthtest.PSN(psn.Add(1)), bthtest.AETH(bth.ACKUnlimited, 2), bthtest.Pattern(8)),
				s.forged(bth.RCAtomicAck, bthtest.PSN(psn.Add(2)), bthtest.AETH(bth.ACKUnlimited, 3)),
				s.forged(bth.RCSendOnly, bthtest.PSN(enemyPSN), bthtest.AckReq, bthtest.Pattern(8)))
			s.settle()
			require.Equal(t, []string{"RC Acknowledge 0 ACK"}, s.answers())
			require.Equal(t, 4, s.succeeded(s.victim))
			s.business()
			s.unconcerned()
		})
	}
}
