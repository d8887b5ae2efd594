package engine

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// limited is DCQCN whose line rate is 100 Gb/s, and which never exceeds a rate, in bit/s; 0:
// nothing limits it.
func limited(t testing.TB, rate float64) *DCQCN {
	t.Helper()
	p := ecn.Paper()
	p.MaxRate = rate
	c, err := ecn.New(ecn.Config{Params: p, LineRate: 100e9})
	require.NoError(t, err)
	return &DCQCN{Controller: c, SendCNP: true}
}

// flow is one queue pair of side a with its peer, and what it put on the wire since the
// last reset.
type flow struct {
	qa, qb *QP

	bytes    int
	packets  int
	first    clock.Time
	last     clock.Time
	shortest time.Duration // between two packets
}

// flows joins more queue pairs to a pair, one for each rate, and watches what is sent.
func (p *pair) flows(t testing.TB, rates ...float64) []*flow {
	t.Helper()
	byPeer := map[uint32]*flow{}
	var all []*flow
	for _, r := range rates {
		f := &flow{qa: p.a.qpWith(limited(t, r)), qb: p.b.qpWith(limited(t, r))}
		p.a.connect(f.qa, f.qb)
		p.b.connect(f.qb, f.qa)
		f.reset()
		byPeer[f.qb.QPN()] = f
		all = append(all, f)
	}
	p.world.OnFrame(func(e simnet.FrameEvent) {
		var h bth.Packet
		if e.Step != simnet.Sent || h.ParseBTH(e.Frame) != nil || h.Opcode == bth.RCAcknowledge {
			return
		}
		if f := byPeer[h.DestQP]; f != nil {
			f.sent(e.Time, f.qa.onWire(len(e.Frame)))
		}
	})
	return all
}

func (f *flow) reset() { f.bytes, f.packets, f.shortest = 0, 0, time.Hour }

func (f *flow) sent(now clock.Time, bytes int) {
	if f.packets == 0 {
		f.first = now
	} else {
		f.bytes += bytes
		f.shortest = min(f.shortest, now.Sub(f.last))
	}
	f.packets++
	f.last = now
}

// rate is what was sent from the first packet to the last, in bit/s.
func (f *flow) rate() float64 { return float64(f.bytes) * 8e9 / float64(f.last.Sub(f.first)) }

// write posts WRITEs of 64 KiB.
func (p *pair) write(t testing.TB, f *flow, times int) {
	t.Helper()
	peer := p.b.region
	for range times {
		post(t, f.qa, qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 1<<16), RemoteAddr: peer.Base(), RKey: peer.RKey()})
	}
}

// keepBusy runs the world for a time while all flows have work.
func (p *pair) keepBusy(t testing.TB, d time.Duration, flows ...*flow) {
	t.Helper()
	end := p.world.Now().Add(d)
	for _, f := range flows {
		p.write(t, f, 16)
	}
	require.NoError(t, p.world.RunUntil(func() bool {
		p.a.poll()
		for _, f := range flows {
			if f.qa.sq.Len() < 8 {
				p.write(t, f, 8)
			}
		}
		return p.world.Now() >= end
	}, end.Add(time.Second)))
}

// Pacing is exact in virtual time, at every rate: over the whole, and from packet to
// packet.
func TestPacedRate(t *testing.T) {
	for _, rate := range []float64{10e6, 100e6, 1e9, 5e9, 40e9} {
		p := newPair(t)
		f := p.flows(t, rate)[0]
		p.keepBusy(t, max(time.Duration(300*8.8e12/rate), 5*time.Millisecond), f)
		require.Greater(t, f.packets, 100)
		require.InEpsilon(t, rate, f.rate(), 0.002, "%g bit/s", rate)
		require.GreaterOrEqual(t, float64(f.shortest), 8e9*1000/rate-1, "packets of 1 KiB at %g bit/s", rate)
		require.Zero(t, p.a.shard.Counters().QPs.Retransmitted, "at %g bit/s", rate)
	}
}

// However short the acknowledgement timeout, it does not run out because the pacer holds
// back the packet that would have asked for the acknowledgement.
func TestPaceIsNoLoss(t *testing.T) {
	for _, rate := range []float64{10e6, 30e6, 100e6} { // a packet takes 0.9 ms, 0.3 ms, 0.09 ms
		p := newPair(t)
		p.a.timeout = 6 // 0.26 ms
		f := p.flows(t, rate)[0]
		p.write(t, f, 2)
		for _, wc := range p.run(t, p.a, 2) {
			require.NoError(t, wc.Err())
		}
		require.Equal(t, 2*64, f.packets, "at %g bit/s", rate)
		require.Zero(t, p.a.shard.Counters().QPs.Timeouts, "at %g bit/s", rate)
	}
}

// What is paced is what packets take on Ethernet: preamble and gap 20, header and check
// sequence 18, IP 20 or 40, UDP 8.
func TestBytesOnEthernet(t *testing.T) {
	for addr, want := range map[string]int{"10.0.0.1": 1106, "fd00::1": 1126} {
		q := &QP{paths: Paths{transport.ClassRequest: {Src: netip.MustParseAddr(addr)}}}
		require.Equal(t, want, q.onWire(bth.BTHLen+1024+wire.ICRCLen), addr)
	}
}

// Ten queue pairs of one shard have each its rate, whatever the others have.
func TestPacedRatesSideBySide(t *testing.T) {
	p := newPair(t)
	rates := []float64{10e6, 20e6, 50e6, 100e6, 200e6, 333e6, 500e6, 1e9, 2e9, 3e9}
	flows := p.flows(t, rates...)
	p.keepBusy(t, 100*time.Millisecond, flows...)
	for i, f := range flows {
		require.InEpsilon(t, rates[i], f.rate(), 0.01, "%g bit/s", rates[i])
	}
	require.Zero(t, p.a.shard.Counters().QPs.Retransmitted)
}

// A paced queue pair takes nothing from one that is not: that one works on as fast as its
// window lets it.
func TestPacedBesideUnpaced(t *testing.T) {
	alone := newPair(t)
	f := alone.flows(t, 0)[0]
	alone.keepBusy(t, 5*time.Millisecond, f)

	both := newPair(t)
	flows := both.flows(t, 100e6, 0)
	both.keepBusy(t, 5*time.Millisecond, flows...)
	require.InEpsilon(t, 100e6, flows[0].rate(), 0.05)
	require.InEpsilon(t, f.rate(), flows[1].rate(), 0.02)
}

// A READ's answer is paced by whoever sends it, and its request is not held up by that.
func TestReadResponsesArePaced(t *testing.T) {
	p := newPair(t)
	const rate = 1e9
	qa, qb := p.a.qp(), p.b.qpWith(limited(t, rate))
	p.a.connect(qa, qb)
	p.b.connect(qb, qa)
	f := &flow{qa: qa}
	f.reset()
	p.world.OnFrame(func(e simnet.FrameEvent) {
		if e.Step == simnet.Sent && e.From == "b" {
			f.sent(e.Time, qa.onWire(len(e.Frame)))
		}
	})
	peer := p.b.region
	read := qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 1<<16), RemoteAddr: peer.Base(), RKey: peer.RKey()}
	post(t, qa, read, read, read)
	for _, wc := range p.run(t, p.a, 3) {
		require.NoError(t, wc.Err())
	}
	require.Equal(t, 3*64, f.packets)
	require.InEpsilon(t, rate, f.rate(), 0.01)
}

// Acknowledgements wait for no pace: only for the same queue pair's READ answers before
// them.
func TestAcknowledgementsAreNotPaced(t *testing.T) {
	p := newPair(t)
	f := p.flows(t, 10e6)[0] // a packet takes 0.9 ms
	p.write(t, f, 1)
	began := p.world.Now()
	peer := p.a.region
	post(t, f.qb, qp.SendWR{Op: qp.OpWrite, SGE: p.b.sge(0, 8), RemoteAddr: peer.Base(), RKey: peer.RKey()})
	require.NoError(t, p.run(t, p.b, 1)[0].Err())
	require.Less(t, p.world.Now().Sub(began), 100*time.Microsecond)
	require.Less(t, f.packets, 3, "and let no packet of the other direction go early")
}

// Being looked at early lets nothing go early: not when answers come, nor work, nor a CNP,
// nor when the device is polled all the time.
func TestNothingLeavesEarly(t *testing.T) {
	p := newPair(t)
	const rate = 100e6 // a packet of 1 KiB takes 90 µs
	f := p.flows(t, rate)[0]
	p.write(t, f, 1)
	end := p.world.Now().Add(20 * time.Millisecond)
	for p.world.Now() < end {
		if f.qa.sq.Len() < 32 {
			p.write(t, f, 1)
		}
		f.qa.control("kick", func() error { p.a.shard.touch(f.qa); return nil })
		p.a.shard.Poll()
		require.NoError(t, p.world.Run(p.world.Now().Add(time.Microsecond)))
		p.a.poll()
	}
	require.GreaterOrEqual(t, float64(f.shortest), 8e9*1000/rate)
	require.InEpsilon(t, rate, f.rate(), 0.02)
}

// Whoever waits for the pace is left alone until then: there is no work, and the next
// deadline lies ahead.
func TestWaitingForThePaceIsNoWork(t *testing.T) {
	p := newLoosePair(t)
	f := p.flows(t, 10e6)[0]
	p.write(t, f, 4)
	for p.a.shard.Poll() {
	}
	require.Equal(t, 1, f.packets)
	require.False(t, p.a.shard.Poll())
	due := p.a.shard.NextDeadline()
	require.Greater(t, due, p.world.Now())
	require.Less(t, due, p.world.Now().Add(time.Millisecond))
}

// A queue pair that waits for its pace can be reset, destroyed and taken to ERR: nothing
// of it is left in the wheel, at the latest when it was due, and nothing of it is sent.
func TestEndWhileWaitingForThePace(t *testing.T) {
	for name, end := range map[string]func(s *side, q *QP){
		"destroy": func(_ *side, q *QP) { q.Destroy() },
		"ERR":     func(_ *side, q *QP) { q.Fail() },
		"RESET": func(s *side, q *QP) {
			require.NoError(s.t, q.Modify(&qp.Attr{State: qp.StateReset}, qp.MaskState, Paths{}))
		},
	} {
		p := newPair(t)
		f := p.flows(t, 10e6)[0]
		p.write(t, f, 4)
		require.NoError(t, p.world.Run(p.world.Now().Add(10*time.Microsecond)))
		require.NotEqual(t, clock.Never, p.a.shard.wheel.Next(), name)
		end(p.a, f.qa)
		if name != "ERR" {
			require.Equal(t, clock.Never, p.a.shard.wheel.Next(), name)
		}
		f.reset()
		p.settle(t)
		require.Zero(t, f.packets, name)
		require.Equal(t, clock.Never, p.a.shard.wheel.Next(), name)
		require.Equal(t, clock.Never, p.a.shard.NextDeadline(), name)
	}
}

// Paced turns allocate nothing.
func TestPacingAllocatesNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newLoosePair(t)
	qa, qb := p.a.qpWith(limited(t, 1e9)), p.b.qpWith(limited(t, 1e9))
	p.a.connect(qa, qb)
	p.b.connect(qb, qa)
	p.attach()
	peer := p.b.region
	wr := qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 8192), RemoteAddr: peer.Base(), RKey: peer.RKey(), Flags: qp.Signaled}
	out := p.a.poll()[:0:16]
	out = out[:16]
	once := func() {
		if err := qa.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		qa.Ring()
		for n := 0; n == 0; n = p.a.cq.Poll(out) {
			if _, err := p.world.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	once()
	require.Zero(t, testing.AllocsPerRun(100, once))
}
