package roce_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

// tenGigabit is DCQCN with everything on, on a link of 10 Gb/s.
func tenGigabit() *roce.DCQCN { return &roce.DCQCN{LineRate: 10e9, SendCNP: true} }

// sentBy keeps the traffic classes of what a device sent, by kind of packet.
type sentBy map[bth.Opcode]map[uint8]bool

// Packet implements trace.Tap.
func (s sentBy) Packet(e *trace.Event) {
	if e.Dir != trace.Out {
		return
	}
	op := bth.Opcode(e.Frame[0][0])
	if s[op] == nil {
		s[op] = map[uint8]bool{}
	}
	s[op][e.TrafficClass] = true
}

// only are the traffic classes of some kinds of packets, each of which must have one.
func (s sentBy) only(t *testing.T, ops ...bth.Opcode) (class uint8) {
	t.Helper()
	all := map[uint8]bool{}
	for _, op := range ops {
		require.NotEmpty(t, s[op], op)
		for c := range s[op] {
			all[c], class = true, c
		}
	}
	require.Len(t, all, 1, ops)
	return class
}

// conversation is a pair of which each end has its own DCQCN, and what each of them sent.
type conversation struct {
	*pair
	a, b sentBy
	la   *simnet.Link
}

func converse(t *testing.T, a, b *roce.DCQCN, opts ...roce.ConnectOption) *conversation {
	t.Helper()
	w := simnet.New(1)
	c := &conversation{pair: &pair{t: t, world: w}, a: sentBy{}, b: sentBy{}}
	c.la = w.Link("a", hostAddr)
	c.pair.a = newEndOn(t, w, c.la, roce.QPConfig{DCQCN: a}, roce.WithTap(c.a))
	c.pair.b = newEndOn(t, w, w.Link("b", enemyAddr), roce.QPConfig{DCQCN: b}, roce.WithTap(c.b))
	require.NoError(t, c.pair.a.qp.Connect(c.pair.b.qp.Info(), opts...))
	require.NoError(t, c.pair.b.qp.Connect(c.pair.a.qp.Info(), opts...))
	return c
}

// chat has A carry out every operation.
func (c *conversation) chat() {
	c.t.Helper()
	e := c.pair.a
	c.pair.b.recv(1, 0, 3000)
	ops := []roce.Op{roce.OpSend, roce.OpWrite, roce.OpRead, roce.OpFetchAdd}
	for _, op := range ops {
		wr := c.remote(op)
		wr.SGE, wr.Flags = e.mr.SGE(0, 3000), roce.Signaled
		if op == roce.OpFetchAdd {
			wr.SGE = e.mr.SGE(0, 8)
		}
		e.send(wr)
	}
	for _, wc := range c.wait(e, len(ops)) {
		require.NoError(c.t, wc.Err())
	}
	c.settle()
}

// counts are a device's counters of congestion.
func counts(d *roce.Device) [4]uint64 {
	c := d.Counters()
	return [4]uint64{
		c[roce.CounterNPECNMarkedRoCEPackets], c[roce.CounterNPCNPSent], c[roce.CounterRPCNPHandled], c[roce.CounterRPCNPIgnored],
	}
}

// TestMarkedDataIsNotified proves D01: of a request that a switch marked the peer tells the
// sender, which sends slower; both count it.
func TestMarkedDataIsNotified(t *testing.T) {
	c := converse(t, tenGigabit(), tenGigabit())
	a, b := c.pair.a, c.pair.b
	require.Zero(t, a.qp.Rate().BitsPerSec, "not paced")
	c.world.Faults.Add(simnet.MarkCE(simnet.Match{From: "a", Nth: 1}))
	c.writes(1, 8)
	require.NoError(t, c.wait(a, 1)[0].Err())
	rate := a.qp.Rate()
	require.InEpsilon(t, 5e9, rate.BitsPerSec, 1e-9)
	require.InEpsilon(t, 10e9, rate.Target, 1e-9)
	require.InEpsilon(t, 10e9, rate.Line, 1e-9)
	require.Positive(t, rate.Alpha)
	require.Equal(t, [4]uint64{0, 0, 1, 0}, counts(a.dev))
	require.Equal(t, [4]uint64{1, 1, 0, 0}, counts(b.dev))
	require.Equal(t, wire.NotECT.With(roce.DefaultCNPDSCP<<2), c.b.only(t, bth.CNP))
	c.settle()
	require.Zero(t, a.qp.Rate().BitsPerSec, "and comes back")
}

// TestDCQCNAtOneEnd proves D02: what an end without DCQCN sends is Not-ECT, so that switches
// do not mark it. Should one do so nevertheless, the peer answers, and the CNP is counted and
// ignored.
func TestDCQCNAtOneEnd(t *testing.T) {
	c := converse(t, nil, tenGigabit())
	c.world.Faults.Add(simnet.MarkCE(simnet.Match{From: "a"}))
	var first *packet
	c.world.OnFrame(func(e simnet.FrameEvent) {
		if e.From == "a" && first == nil {
			first = &packet{c.la, e.Meta, append([]byte(nil), e.Frame...)}
		}
	})
	c.chat()
	require.Equal(t, [4]uint64{}, counts(c.pair.b.dev))
	first.meta.ECN = uint8(wire.CE)
	first.fire()
	c.writes(1, 8)
	c.wait(c.pair.a, 1)
	require.Equal(t, [4]uint64{0, 0, 0, 1}, counts(c.pair.a.dev))
	require.Equal(t, [4]uint64{1, 1, 0, 0}, counts(c.pair.b.dev))
	require.Equal(t, roce.Rate{Packets: c.pair.a.qp.Rate().Packets, PathMTU: 1024}, c.pair.a.qp.Rate())
	require.EqualValues(t, wire.NotECT, c.a.only(t, bth.RCSendFirst, bth.RCWriteFirst, bth.RCReadRequest, bth.RCFetchAdd))
	require.EqualValues(t, wire.ECT0, c.b.only(t, bth.RCReadRespFirst, bth.RCReadRespLast, bth.RCAtomicAck))
	require.EqualValues(t, wire.NotECT, c.b.only(t, bth.RCAcknowledge))
}

// TestMarksOfSilentPeer proves that an end which may not send CNPs sends none.
func TestMarksOfSilentPeer(t *testing.T) {
	c := converse(t, tenGigabit(), &roce.DCQCN{LineRate: 10e9})
	c.world.Faults.Add(simnet.MarkCE(simnet.Match{From: "a"}))
	c.chat()
	marked := counts(c.pair.b.dev)
	require.NotZero(t, marked[0])
	require.Equal(t, [4]uint64{marked[0], 0, 0, 0}, marked)
}

// TestTrafficClass proves D04: the DSCP that the application chose is on data and
// acknowledgements, and on CNPs one of their own; ECN is the stack's, whatever the
// application wants: ECT(0) on data if DCQCN is on, Not-ECT on everything else.
func TestTrafficClass(t *testing.T) {
	const af31 = 26 << 2
	for _, class := range []uint8{106, af31, af31 | uint8(wire.CE)} {
		d := tenGigabit()
		d.CNPDSCP = 46
		c := converse(t, d, d, roce.WithTrafficClass(class, 0))
		c.world.Faults.Add(simnet.MarkCE(simnet.Match{From: "a", Nth: 1}))
		c.chat()
		c.writes(1, 8) // which is acknowledged by itself
		c.wait(c.pair.a, 1)
		require.Equal(t, af31|uint8(wire.ECT0), c.a.only(t, bth.RCSendFirst, bth.RCSendLast, bth.RCWriteFirst, bth.RCReadRequest, bth.RCFetchAdd))
		require.Equal(t, af31|uint8(wire.ECT0), c.b.only(t, bth.RCReadRespFirst, bth.RCReadRespMiddle, bth.RCAtomicAck))
		require.Equal(t, uint8(af31), c.b.only(t, bth.RCAcknowledge))
		require.Equal(t, uint8(46<<2), c.b.only(t, bth.CNP))

		c = converse(t, nil, nil, roce.WithTrafficClass(class, 0))
		c.chat()
		c.writes(1, 8)
		c.wait(c.pair.a, 1)
		require.Equal(t, uint8(af31), c.a.only(t, bth.RCSendFirst, bth.RCReadRequest))
		require.Equal(t, uint8(af31), c.b.only(t, bth.RCReadRespFirst, bth.RCAcknowledge))
	}
}

// TestMarkedReadSlowsTheResponder proves that marks on a READ's answer slow down whoever
// sends that, and nobody else.
func TestMarkedReadSlowsTheResponder(t *testing.T) {
	c := converse(t, tenGigabit(), tenGigabit())
	a, b := c.pair.a, c.pair.b
	read := func() time.Duration {
		began := c.world.Now()
		wr := c.remote(roce.OpRead)
		wr.SGE, wr.Flags = a.mr.SGE(0, bufferSize), roce.Signaled
		a.send(wr)
		require.NoError(t, c.wait(a, 1)[0].Err())
		return c.world.Now().Sub(began)
	}
	c.world.Faults.Add(simnet.MarkCE(simnet.Match{From: "b", Nth: 1}))
	quick := read()
	require.NoError(t, c.world.Run(c.world.Now().Add(2*simnet.DefaultLatency)))
	slow := read()
	require.Equal(t, [4]uint64{0, 0, 1, 0}, counts(b.dev))
	require.Equal(t, [4]uint64{1, 1, 0, 0}, counts(a.dev))
	require.Zero(t, a.qp.Rate().BitsPerSec)
	require.Equal(t, 4*simnet.DefaultLatency, quick, "this network itself takes no time for bytes")
	line := time.Duration(bufferSize) * 8 / 10 // ns at 10 Gb/s
	require.Greater(t, slow, line)
	require.Less(t, slow, 2*line)
}

// TestCNPFloodEnds proves that no number of CNPs brings the rate below the minimum, or keeps
// it there, or keeps work from being done; others' change nothing.
func TestCNPFloodEnds(t *testing.T) {
	for _, params := range []ecn.Params{ecn.Paper(), ecn.ConnectX()} {
		s := newPeace(t, roce.QPConfig{DCQCN: &roce.DCQCN{Params: params}})
		s.connect()
		m := enemyMeta()
		m.Src = strangerAddr
		s.sealed(s.stranger, m, bthtest.New(bth.CNP, bthtest.BECN, bthtest.QP(s.victim.qp.QPN()))).fire()
		s.settle()
		require.Zero(t, s.victim.qp.Rate().BitsPerSec)
		require.Equal(t, [4]uint64{0, 0, 0, 1}, counts(s.victim.dev))

		flood := repeated(200, s.ask(bth.CNP, 0, bthtest.BECN))
		lowest := 1e99
		for range 100 {
			fire(flood...)
			require.NoError(t, s.world.Run(s.world.Now().Add(100*time.Microsecond)))
			lowest = min(lowest, s.victim.qp.Rate().BitsPerSec)
		}
		require.GreaterOrEqual(t, lowest, params.MinRate)
		require.Less(t, lowest, 2*params.MinRate)
		require.EqualValues(t, 20_000, counts(s.victim.dev)[2])
		s.unconcerned()

		line := s.victim.qp.Rate().Line
		require.InEpsilon(t, bytesPerNanosecond*8e9, line, 1e-9, "the link's speed")
		require.NoError(t, s.world.Run(s.world.Now().Add(20*time.Second)))
		require.Zero(t, s.victim.qp.Rate().BitsPerSec, "it comes back, without being used")
	}
}

// TestDCQCNIsChecked proves that what is out of its range is refused, with the range.
func TestDCQCNIsChecked(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	for says, d := range map[string]roce.DCQCN{
		"DCQCN.CNPInterval -1ns is not between 0 and 1s":          {CNPInterval: -1},
		"DCQCN.CNPInterval 2s is not between 0 and 1s":            {CNPInterval: 2 * time.Second},
		"DCQCN.LineRate is 10 bit/s, must be 0 or at least 1e+06": {LineRate: 10},
		"DCQCN.CNPDSCP 64 is not between 0 and 63":                {CNPDSCP: 64},
		"Gain is 2, must be more than 0 and at most 1":            {Params: func() ecn.Params { p := ecn.Paper(); p.Gain = 2; return p }()},
		"LineRate is -1 bit/s, must be 0 (measure it) or up to":   {LineRate: -1},
	} {
		_, err := p.a.pd.CreateQP(roce.QPConfig{SendCQ: p.a.cq, DCQCN: &d})
		require.ErrorContains(t, err, "roce: create a QP: DCQCN")
		require.ErrorContains(t, err, says)
	}
}
