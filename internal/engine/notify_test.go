package engine

import (
	"encoding/hex"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// markedRig is a rig whose side b answers marks, and what it sent.
type markedRig struct {
	*rig
	sent []simnet.FrameEvent
	psn  bth.PSN
}

func newMarkedRig(t testing.TB, d *DCQCN) *markedRig {
	t.Helper()
	r := &markedRig{rig: newRig(t)}
	r.qb = r.b.qpWith(d)
	r.b.connect(r.qb, r.qa) // one-sided: what a sends is made by hand
	r.psn = r.qa.InitialPSN()
	r.world.OnFrame(func(e simnet.FrameEvent) {
		if e.Step == simnet.Sent && e.From == "b" {
			e.Frame = append([]byte(nil), e.Frame...)
			r.sent = append(r.sent, e)
		}
	})
	return r
}

// marked is a packet for side b, an empty WRITE unless edit says otherwise, that a switch
// has marked.
func (r *markedRig) marked(edit func(h *bth.Packet)) (link.Meta, []byte) {
	m := r.meta
	m.ECN = uint8(wire.CE)
	return m, r.packet(&m, func(h *bth.Packet) {
		h.Opcode, h.PSN, h.AckReq = bth.RCWriteOnly, r.psn, false
		if edit != nil {
			edit(h)
		}
	}, nil)
}

// write injects the next empty WRITE, marked.
func (r *markedRig) write() {
	m, data := r.marked(nil)
	r.psn = r.psn.Add(1)
	r.la.Inject(m, data)
}

// cnps are when side b sent CNPs.
func (r *markedRig) cnps() (at []clock.Time) {
	for _, e := range r.sent {
		if bth.Opcode(e.Frame[0]) == bth.CNP {
			at = append(at, e.Time)
		}
	}
	return at
}

// D01: a marked request is answered by a CNP at once, to the byte.
func TestCNPOnTheWire(t *testing.T) {
	r := newMarkedRig(t, limited(t, 0))
	r.write()
	r.settle(t)
	require.Len(t, r.sent, 1)
	cnp, to := r.sent[0], r.qa.QPN()
	want := [32]byte{0: 0x81, 2: 0xff, 3: 0xff, 4: 0x40, 5: byte(to >> 16), 6: byte(to >> 8), 7: byte(to)}
	require.Equal(t, want[:28], cnp.Frame[:28])
	m := cnp.Meta
	require.True(t, wire.VerifyICRC(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, [2][]byte{cnp.Frame}))
	require.Equal(t, 2*simnet.DefaultLatency, cnp.Time.Sub(0))
	c := r.b.shard.Counters()
	require.EqualValues(t, 1, c.Marked)
	require.EqualValues(t, 1, c.ByCause[transport.CauseCNP])
}

// D01: a hundred marks within 10 µs are answered by one CNP, and steady ones by one each
// interval.
func TestCNPInterval(t *testing.T) {
	r := newMarkedRig(t, limited(t, 0))
	for range 100 {
		r.write()
		require.NoError(t, r.world.Run(r.world.Now().Add(100*time.Nanosecond)))
	}
	r.settle(t)
	require.Len(t, r.cnps(), 1)
	require.EqualValues(t, 100, r.b.shard.Counters().Marked)

	for _, interval := range []time.Duration{0, 4 * time.Microsecond} {
		d := limited(t, 0)
		d.CNPInterval = interval
		r = newMarkedRig(t, d)
		for range 1000 {
			r.write()
			require.NoError(t, r.world.Run(r.world.Now().Add(time.Microsecond)))
		}
		r.settle(t)
		if interval == 0 {
			interval = ecn.DefaultInterval
		}
		at := r.cnps()
		require.InDelta(t, 1000/int(interval/time.Microsecond), len(at), 1)
		for i := 1; i < len(at); i++ {
			require.GreaterOrEqual(t, at[i].Sub(at[i-1]), interval)
		}
	}
}

// D01: what is answered: every packet that the peer's limiter holds, and only from the peer
// and with a good ICRC. Nothing is answered if the peer takes no CNPs. Whatever is marked is
// counted, unless it is corrupted.
func TestWhatMarksAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(h *bth.Packet)
		meta    func(m *link.Meta)
		corrupt bool
		dcqcn   *DCQCN
		answers int
	}{
		"a request":             {answers: 1},
		"READ request":          {edit: func(h *bth.Packet) { h.Opcode = bth.RCReadRequest }, answers: 1},
		"READ response":         {edit: func(h *bth.Packet) { h.Opcode = bth.RCReadRespOnly }, answers: 1},
		"atomic result":         {edit: func(h *bth.Packet) { h.Opcode = bth.RCAtomicAck }, answers: 1},
		"behind a gap":          {edit: func(h *bth.Packet) { h.PSN = h.PSN.Add(7) }, answers: 1},
		"acknowledgement":       {edit: func(h *bth.Packet) { h.Opcode = bth.RCAcknowledge }},
		"NAK":                   {edit: func(h *bth.Packet) { h.Opcode, h.AETH.Syndrome = bth.RCAcknowledge, bth.NAKSequence }},
		"CNP":                   {edit: func(h *bth.Packet) { h.Opcode = bth.CNP }},
		"for nobody":            {edit: func(h *bth.Packet) { h.DestQP ^= 1 << 23 }},
		"of a stranger":         {meta: func(m *link.Meta) { m.Src = netip.MustParseAddr("10.0.0.9") }},
		"corrupted":             {corrupt: true},
		"peer takes no CNPs":    {dcqcn: &DCQCN{Controller: limited(t, 0).Controller}},
		"no congestion control": {dcqcn: (*DCQCN)(nil)},
	} {
		d := c.dcqcn
		if d == nil && name != "no congestion control" {
			d = limited(t, 0)
		}
		r := newMarkedRig(t, d)
		m, data := r.marked(c.edit)
		if c.meta != nil {
			c.meta(&m)
			seal(&m, data)
		}
		if c.corrupt {
			data[9] ^= 1
		}
		r.la.Inject(m, data)
		require.NoError(t, r.world.Run(r.world.Now().Add(100*time.Microsecond)))
		require.Len(t, r.cnps(), c.answers, name)
		marked := uint64(1)
		if c.corrupt {
			marked = 0
		}
		require.Equal(t, marked, r.b.shard.Counters().Marked, name)
	}
}

// A CNP waits for nothing: it goes first, past what fills the link, and past a READ answer
// of its own queue pair that waits for its pace.
func TestCNPsWaitForNothing(t *testing.T) {
	r := newMarkedRig(t, limited(t, 10e6))
	peer, region := r.a.region, r.b.region
	m, read := r.marked(func(h *bth.Packet) {
		h.Opcode = bth.RCReadRequest
		h.RETH = bth.RETH{VA: region.Base(), RKey: uint32(region.RKey()), Len: 1 << 15}
	})
	m.ECN = 0
	r.psn = r.psn.Add(32)
	r.la.Inject(m, read)
	for range 16 {
		post(t, r.qb, qp.SendWR{Op: qp.OpWrite, SGE: r.b.sge(0, 1<<16), RemoteAddr: peer.Base(), RKey: peer.RKey()})
	}
	require.NoError(t, r.world.Run(r.world.Now().Add(time.Millisecond)))
	r.sent = nil
	began := r.world.Now()
	r.la.Inject(r.marked(func(h *bth.Packet) { h.AckReq = true }))
	require.NoError(t, r.world.Run(began.Add(30*time.Microsecond)))
	require.Equal(t, []clock.Time{began.Add(2 * simnet.DefaultLatency)}, r.cnps())
	require.Len(t, r.sent, 1, "but acknowledgements do, for READ answers before them")
}

// A queue pair that is reset owes its next peer no CNP.
func TestResetForgetsCNPs(t *testing.T) {
	r := newMarkedRig(t, limited(t, 0))
	require.NoError(t, r.qb.control("mark and reset", func() error {
		s := r.b.shard
		s.packet.Opcode = bth.RCWriteOnly
		s.marked(r.qb)
		require.True(t, r.qb.dcqcn.np.Due())
		s.forget(r.qb.dcqcn)
		require.False(t, r.qb.dcqcn.np.Due())
		return r.qb.machine.Modify(s.now, &qp.Attr{State: qp.StateReset}, qp.MaskState)
	}))
	r.b.connect(r.qb, r.qa)
	r.settle(t)
	require.Empty(t, r.cnps())
}

// connectXCNP is a frame that a ConnectX-4 Lx sent; test/contrib/roce.uts of scapy has it.
const connectXCNP = "e41d2dab2bc27cfe90643b320800" + "45c2003c718c4000401191610a0011010a001201" + "000012b700280000" +
	"8100ffff40000118000000000000000000000000000000000000000082fd002a"

// A ConnectX's CNP is obeyed, as it was on the wire: UDP source port 0, an ECN field of its
// own, DSCP 48.
func TestCNPOfConnectX(t *testing.T) {
	frame, err := hex.DecodeString(connectXCNP)
	require.NoError(t, err)
	h, from, n, err := wire.ParseHeaders(frame, len(frame))
	require.NoError(t, err)
	w := simnet.New(1)
	p := &pair{world: w, la: w.Link("a", h.Src), lb: w.Link("b", h.Dst)}
	p.a, p.b = newSide(t, p.la), newSide(t, p.lb)
	p.attach()
	p.b.shard.demux.newest = 0x117
	p.qa, p.qb = p.a.qp(), p.b.qpWith(limited(t, 0))
	require.EqualValues(t, 0x118, p.qb.QPN())
	p.b.connect(p.qb, p.qa)
	p.qb.pkey = 0x8005 // a partition of its own: a CNP comes with the default one nevertheless
	before := p.qb.Snapshot().Rate
	require.Zero(t, before.BitsPerSec)

	p.la.Inject(link.Meta{
		Src: h.Src, Dst: h.Dst, SrcPort: h.SrcPort, ECN: uint8(wire.ECNOf(h.TrafficClass)), ID: h.ID, IDKnown: true, Flags: wire.DontFragment,
	}, frame[from:from+n])
	require.NoError(t, w.Run(w.Now().Add(2*simnet.DefaultLatency)))
	require.EqualValues(t, 1, p.b.shard.Counters().ByRule[transport.RuleCNP])
	after := p.qb.Snapshot().Rate
	require.InEpsilon(t, 50e9, after.BitsPerSec, 1e-9, "alpha is 1: half of the line rate")
	require.InEpsilon(t, 100e9, after.Target, 1e-9)
}
