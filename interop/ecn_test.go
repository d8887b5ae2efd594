//go:build linux

package interop

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
	"github.com/rocinante-rdma/roce/wire"
)

// marked is a series of all operations on a way where switches are congested: the wire
// marks every packet that it may. The kernel sends whatever traffic class its program
// asks for, ECN bits included; what ours sends is the congestion control's.
type marked struct {
	name  string
	dcqcn *roce.DCQCN
}

// ecnCells are the same in either direction: the kernel's data are its requests or its
// READ responses.
func ecnCells(way) []cell {
	return []cell{
		marked{"without DCQCN", nil},
		marked{"with DCQCN, CNPs not sent", new(roce.DCQCN)},
		marked{"with DCQCN, CNPs sent", &roce.DCQCN{SendCNP: true}},
	}
}

func (c marked) String() string { return "all operations, all of them marked, " + c.name }

// The traffic class that the application of either end asks for: DSCP 26 and ECT(0), as
// is usual for RoCEv2 (D04).
const (
	askedDSCP  = 26
	askedClass = askedDSCP<<2 | uint8(wire.ECT0)
	cnpDSCP    = 48
)

func (c marked) run(t *testing.T, b *bench, w way) {
	s := patient
	s.class, s.ours.DCQCN = askedClass, c.dcqcn
	p := b.connect(t, s)
	req, resp := w.ends(p)
	mark, before := b.tap.mark(), b.congestion(t)
	defer b.tap.inflict(p, trouble{fault.MarkCE, fault.Match{}})()

	work := newSeries(t, mixed.ops, mixed.n, req, resp)
	for i, done := range mixed.post(t, req, work.works) {
		requireRequesterDone(t, done, work.works[i])
	}
	work.requireReceived(t, resp)
	work.requireMemory(t, req, resp)
	require.Equal(t, roce.StateRTS, req.state(t))
	require.Equal(t, roce.StateRTS, resp.state(t))
	require.Zero(t, p.ours.qp.Rate().BitsPerSec, "our rate, which nobody asked to lower")

	// When the work has completed, packets may still be on their way or not yet counted.
	want, got := b.expected(mark), b.congestion(t).sub(before)
	for ctx := bounded(t); ctx.Err() == nil && !got.equal(want); runtime.Gosched() {
		want, got = b.expected(mark), b.congestion(t).sub(before)
	}
	require.Equal(t, want, got)

	seen := b.tap.since(mark)
	for _, s := range seen {
		require.Equal(t, c.class(s), s.TrafficClass, "traffic class of %s %v", s.Label(), s.dir)
		require.Equal(t, wire.ECNOf(s.TrafficClass).Capable(), s.fate.Mark, "whether the wire marked %s %v", s.Label(), s.dir)
	}
	c.requireNotified(t, p, seen)
	c.requireLaw(t, b.signs.of(p.ours.qp.QPN()))
}

// class is the traffic class with which a packet leaves its sender.
func (c marked) class(s *sighting) uint8 {
	switch {
	case s.dir == guest.FromGuest:
		return askedClass // of acknowledgements, too
	case s.BTH.Opcode == bth.CNP:
		return wire.NotECT.With(cnpDSCP << 2)
	case c.dcqcn == nil, s.is(bth.Ack):
		return wire.NotECT.With(askedClass)
	}
	return wire.ECT0.With(askedClass)
}

// requireNotified fails the test unless the kernel's queue pair was sent CNPs, or none if
// they are not to be sent, and sent none itself.
func (c marked) requireNotified(t *testing.T, p *pair, seen []*sighting) {
	t.Helper()
	var cnps int
	for _, s := range seen {
		if s.BTH.Opcode != bth.CNP {
			continue
		}
		cnps++
		require.Equal(t, guest.ToGuest, s.dir)
		require.Equal(t, p.kernel.qp.QPN, s.BTH.DestQP)
		require.Empty(t, s.fate, "a CNP must not be marked")
	}
	marks := count(seen, func(s *sighting) bool { return s.dir == guest.FromGuest && s.fate.Mark && !s.is(bth.Ack) })
	require.NotZero(t, marks, "marked data of the kernel's")
	if c.dcqcn == nil || !c.dcqcn.SendCNP {
		require.Zero(t, cnps, "CNPs")
		return
	}
	require.NotZero(t, cnps, "CNPs")
	require.LessOrEqual(t, cnps, marks, "CNPs, and packets that ask for one")
	t.Logf("%d CNPs for %d marked packets", cnps, marks)
}

// congestion is what both ends count of it: ours by name; of the kernel's counters all
// but that of receives, which have nothing to do with it.
type congestion struct {
	kernel                         rxeCounters
	marked, sent, handled, ignored uint64
}

func (b *bench) congestion(t *testing.T) congestion {
	t.Helper()
	c := b.dev.Counters()
	kernel := hwCounters(t, b.g)
	delete(kernel, "rdma_recvs")
	return congestion{
		kernel, c[roce.CounterNPECNMarkedRoCEPackets], c[roce.CounterNPCNPSent],
		c[roce.CounterRPCNPHandled], c[roce.CounterRPCNPIgnored],
	}
}

func (c congestion) sub(earlier congestion) congestion {
	return congestion{
		c.kernel.sub(earlier.kernel),
		c.marked - earlier.marked, c.sent - earlier.sent, c.handled - earlier.handled, c.ignored - earlier.ignored,
	}
}

func (c congestion) equal(o congestion) bool {
	return bothEnds{kernel: c.kernel}.equal(bothEnds{kernel: o.kernel}) &&
		c.marked == o.marked && c.sent == o.sent && c.handled == o.handled && c.ignored == o.ignored
}

// expected is what both ends must count of the packets that were seen after a mark:
// nothing was lost or came again, the kernel drops CNPs before it counts them, and
// sends none.
func (b *bench) expected(mark int) (c congestion) {
	c.kernel = rxeCounters{}
	for _, s := range b.tap.since(mark) {
		switch {
		case s.dir == guest.FromGuest:
			c.kernel["sent_pkts"]++
			if s.fate.Mark {
				c.marked++
			}
		case s.BTH.Opcode == bth.CNP:
			c.sent++
		default:
			c.kernel["rcvd_pkts"]++
		}
	}
	return c
}

// requireCongestionKnown fails the test unless tshark and our decoder find the same CNPs
// and marked packets in a capture, and every CNP is of the shape that it must have.
func requireCongestionKnown(t *testing.T, file string, packets []*decode.Packet) {
	t.Helper()
	pairs := decode.NewPairs()
	for _, p := range packets {
		pairs.Learn(p)
	}
	a := decode.NewAnnotator(pairs)
	for _, p := range packets {
		a.Annotate(p)
		for _, n := range p.Notes {
			require.NotEqual(t, decode.NoteOddCNP, n.Kind, "packet %d: %s", p.Number, n.Text)
		}
	}
	told := a.Congestion()
	require.NotZero(t, told.CNPs)
	require.NotZero(t, told.Marked)
	const cnp = "infiniband.bth.opcode == 0x81 && infiniband.bth.psn == 0 && (ip.dsfield.dscp == 48 || ipv6.tclass.dscp == 48)"
	require.Equal(t, told.CNPs, tsharkCount(t, file, cnp), "CNPs that tshark knows")
	const marks = "infiniband && (ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3)"
	require.Equal(t, told.Marked, tsharkCount(t, file, marks), "marked packets that tshark knows")
}
