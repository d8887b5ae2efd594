package simnet

import (
	"math/rand/v2"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/wire"
)

// Marking makes the switch's port towards the link a congestion point: a frame that
// begins to leave is marked with Congestion Experienced, with the probability that red
// has for the bytes that then wait behind it, counted as [Link.Backlog] does. A mark made
// when the frame came would tell of the queue as late as the frame had to wait. The dice
// derive from the world's seed. It matters with Bandwidth.
//
// Only ECN-capable frames are marked. Others, which a router would drop with the same
// probability (RFC 3168, section 5), are dropped here only if the buffer is full: so
// acknowledgements and CNPs get through.
func Marking(red ecn.RED) LinkOption {
	return func(l *Link) {
		random := rand.NewPCG(l.world.seed, nameHash(l.name+" marking"))
		l.port.marker = &marker{red, rand.New(random)}
	}
}

// marker is what makes a port a congestion point.
type marker struct {
	red  ecn.RED
	dice *rand.Rand
}

// marks decides on a frame behind which so many bytes wait.
func (m *marker) marks(e wire.ECN, behind int) bool {
	return (e == wire.ECT0 || e == wire.ECT1) && m.dice.Float64() < m.red.Probability(behind)
}

// Backlog is the number of bytes at the switch's port towards the link: of the frames
// that wait, with what each takes on Ethernet besides its IP packet, and what is left of
// the one that is leaving. Without Bandwidth it is always 0.
func (l *Link) Backlog() int {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.port.backlog(l.world.Now(), l)
}

// enqueue has the frame wait at a port that marks.
func (w *World) enqueue(f *frame, now clock.Time) {
	p := &f.to.port
	f.stage = departing
	at := max(p.busy, now)
	p.take(now, f.to.serialisation(f))
	w.schedule(&f.event, at)
}

// depart: the frame's first bit leaves the port, its mark with it.
func (w *World) depart(f *frame) {
	to := f.to
	end := f.at.Add(to.serialisation(f))
	if to.port.marker.marks(wire.ECN(f.meta.ECN), to.port.backlog(end, to)) {
		f.meta.ECN = uint8(wire.CE)
		w.count(f, Marked)
	}
	f.stage = arriving
	w.schedule(&f.event, end.Add(to.latency))
}
