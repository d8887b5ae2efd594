package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// rig is a shard that gets packets by hand.
type rig struct {
	*pair
	meta   link.Meta
	last   trace.Event
	events int
}

func (r *rig) Packet(e *trace.Event) {
	if e.Dir == trace.In {
		r.last, r.events = *e, r.events+1
	}
}

func newRig(t testing.TB) *rig {
	r := &rig{}
	r.pair = newPair(t, withTap(r))
	r.meta = link.Meta{
		Src: r.la.Addrs()[0], Dst: r.lb.Addrs()[0], SrcPort: 0xc001,
		ID: 77, IDKnown: true, Flags: wire.DontFragment,
	}
	return r
}

// seal writes the ICRC that fits the payload to its last four bytes.
func seal(m *link.Meta, payload []byte) {
	if len(payload) < bth.BTHLen+wire.ICRCLen {
		return
	}
	end := len(payload) - wire.ICRCLen
	wire.MakeFlow(m.Src, m.Dst, m.SrcPort, m.Flags).
		Seal(m.ID, payload[:bth.BTHLen], [][]byte{payload[bth.BTHLen:end]}, payload[end:])
}

// inject brings a payload to side b and returns the rule that decided its fate.
func (r *rig) inject(t testing.TB, m link.Meta, payload []byte) transport.Rule {
	t.Helper()
	before, events := r.b.shard.counters.ByRule, r.events
	r.la.Inject(m, payload)
	require.NoError(t, r.world.RunUntil(func() bool { return r.events > events }, r.world.Now().Add(1e6)))
	var rule transport.Rule
	hits := 0
	for i, n := range r.b.shard.counters.ByRule {
		if n != before[i] {
			rule, hits = transport.Rule(i), hits+int(n-before[i])
		}
	}
	require.Equal(t, 1, hits, "every packet is counted under exactly one rule")
	require.Equal(t, rule, r.last.Verdict.Rule, "and the trace says the same")
	return rule
}

// packet builds a sealed packet for side b's QP.
func (r *rig) packet(m *link.Meta, edit func(h *bth.Packet), payload []byte) []byte {
	h := bth.Packet{
		Opcode: bth.RCSendOnly, PKey: bth.DefaultPKey, DestQP: r.qb.QPN(), PSN: r.qa.InitialPSN(),
		Pad: bth.PadFor(len(payload)), AckReq: true,
	}
	edit(&h)
	b := make([]byte, bth.MaxHeaderLen, 256)
	b = append(b[:h.PutHeaders(b)], payload...)
	b = append(b, make([]byte, int(h.Pad)+wire.ICRCLen)...)
	seal(m, b)
	return b
}

func TestEveryDropHasItsRule(t *testing.T) {
	for name, c := range map[string]struct {
		header func(h *bth.Packet)
		meta   func(m *link.Meta)
		before func(r *rig)
		want   transport.Rule
	}{
		"version":       {header: func(h *bth.Packet) { h.TVer = 1 }, want: transport.RuleVersion},
		"QP0":           {header: func(h *bth.Packet) { h.DestQP = 0 }, want: transport.RuleManagementQP},
		"QP1":           {header: func(h *bth.Packet) { h.DestQP = 1 }, want: transport.RuleManagementQP},
		"no QP":         {header: func(h *bth.Packet) { h.DestQP ^= 0x800000 }, want: transport.RuleNoQP},
		"UC opcode":     {header: func(h *bth.Packet) { h.Opcode = 0x24 }, want: transport.RuleServiceType},
		"UD opcode":     {header: func(h *bth.Packet) { h.Opcode = 0x64 }, want: transport.RuleServiceType},
		"partition":     {header: func(h *bth.Packet) { h.PKey = 0x8001 }, want: transport.RulePKey},
		"limited":       {header: func(h *bth.Packet) { h.PKey = 0x7fff }, want: transport.RuleNotReady},
		"foreign":       {meta: func(m *link.Meta) { m.Src = netip.MustParseAddr("10.0.0.9") }, want: transport.RuleAddress},
		"VLAN":          {meta: func(m *link.Meta) { m.VLAN = 5 }, want: transport.RuleVLAN},
		"priority tag":  {meta: func(m *link.Meta) { m.VLAN = 3 << 13 }, want: transport.RuleNotReady},
		"any port":      {meta: func(m *link.Meta) { m.SrcPort = 0 }, want: transport.RuleNotReady},
		"CE mark":       {meta: func(m *link.Meta) { m.ECN = 3 }, want: transport.RuleNotReady},
		"state":         {before: func(r *rig) { r.qb.Fail() }, want: transport.RuleState},
		"FECN and BECN": {header: func(h *bth.Packet) { h.FECN, h.BECN = true, true }, want: transport.RuleNotReady},
		"MigReq":        {header: func(h *bth.Packet) { h.MigReq = true }, want: transport.RuleNotReady},
	} {
		r := newRig(t)
		if c.before != nil {
			c.before(r)
		}
		m := r.meta
		if c.meta != nil {
			c.meta(&m)
		}
		edit := c.header
		if edit == nil {
			edit = func(*bth.Packet) {}
		}
		require.Equal(t, c.want, r.inject(t, m, r.packet(&m, edit, []byte("x"))), name)
	}
}

// W05, W06: what the ICRC covers and what not.
func TestICRCIsChecked(t *testing.T) {
	r := newRig(t)
	m := r.meta
	good := r.packet(&m, func(*bth.Packet) {}, []byte("x"))
	flip := func(i int) []byte {
		b := append([]byte(nil), good...)
		b[i] ^= 1
		return b
	}
	require.Equal(t, transport.RuleICRC, r.inject(t, m, flip(11)), "a PSN bit")
	require.Equal(t, transport.RuleICRC, r.inject(t, m, flip(len(good)-1)), "an ICRC bit")
	require.Equal(t, transport.RuleNotReady, r.inject(t, m, flip(4)), "the byte of FECN, BECN and reserved bits")
	for name, edit := range map[string]func(*link.Meta){
		"address":        func(m *link.Meta) { m.Src = netip.MustParseAddr("10.0.0.9") },
		"source port":    func(m *link.Meta) { m.SrcPort++ },
		"identification": func(m *link.Meta) { m.ID++ },
		"flags":          func(m *link.Meta) { m.Flags = 0 },
	} {
		changed := m
		edit(&changed)
		require.Equal(t, transport.RuleICRC, r.inject(t, changed, good), name)
	}
	hidden := m
	hidden.IDKnown = false
	require.NotEqual(t, transport.RuleICRC, r.inject(t, hidden, good))
	require.Equal(t, wire.ICRCInferred, r.last.ICRC)
	require.EqualValues(t, 1, r.b.shard.Counters().ICRCInferred)
}

// W08, W09: every opcode, every length from 0 to 80, with a valid and an invalid
// ICRC: nothing panics, and each is counted under one rule. The QP is brought back
// whenever a packet took it to ERR.
func TestEveryOpcodeAndLength(t *testing.T) {
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	rules := map[transport.Rule]int{}
	step := 1
	if testenv.Race && !testenv.Full() {
		step = 7
	}
	for op := range 256 {
		for n := 0; n <= 80; n += step {
			for _, valid := range []bool{true, false} {
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(rnd.Uint32())
				}
				if n > 0 {
					b[0] = byte(op)
				}
				if n >= bth.BTHLen {
					b[1] &= 0xf0 // version 0, any pad count
					binary.BigEndian.PutUint16(b[2:], bth.DefaultPKey)
					binary.BigEndian.PutUint32(b[4:], r.qb.QPN())
					binary.BigEndian.PutUint32(b[8:], uint32(r.b.expected(r.qb))|0x80000000)
				}
				if valid {
					seal(&r.meta, b)
				}
				rule := r.inject(t, r.meta, b)
				rules[rule]++
				switch {
				case n < bth.BTHLen+wire.ICRCLen:
					require.Equal(t, transport.RuleShort, rule, "%d bytes", n)
				case !valid:
					require.Equal(t, transport.RuleICRC, rule, "opcode %#x, %d bytes", op, n)
				default:
					require.NotEqual(t, transport.RuleICRC, rule, "opcode %#x, %d bytes", op, n)
				}
				if r.qb.State() == qp.StateErr {
					r.reconnect(t)
				}
			}
		}
	}
	for rule, n := range rules {
		t.Logf("%6d %s", n, rule)
	}
	for _, rule := range []transport.Rule{
		transport.RuleShort, transport.RuleICRC, transport.RuleOpcode, transport.RuleServiceType,
		transport.RuleReserved, transport.RuleNotReady,
	} {
		require.NotZero(t, rules[rule], "%s never decided", rule)
	}
}

// expected is a PSN that the QP's responder waits for: the QPs of this test never
// execute anything that is not refused, but for empty WRITEs and the like.
func (s *side) expected(q *QP) bth.PSN { return q.Snapshot().Attr.RQPSN }

// reconnect replaces b's QP, with the same peer.
func (r *rig) reconnect(t testing.TB) {
	t.Helper()
	r.qb.Destroy()
	r.qb = r.b.qp()
	r.b.connect(r.qb, r.qa)
	r.b.poll()
}

// Packets are cut from super-frames wherever the fragments part.
func TestCut(t *testing.T) {
	whole := []byte("0123456789abcdef")
	for split := range len(whole) + 1 {
		f := [2][]byte{whole[:split], whole[split:]}
		for from := range len(whole) + 1 {
			for to := from; to <= len(whole); to++ {
				p := cut(f, from, to)
				require.Equal(t, string(whole[from:to]), string(p[0])+string(p[1]))
				if from < to {
					require.NotEmpty(t, p[0], "the packet begins in the first piece")
				}
			}
		}
	}
}
