package testwire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/wire"
)

// ethernetOverhead is what a frame takes on Ethernet besides its bytes here: preamble
// and inter-frame gap 20, check sequence 4.
const ethernetOverhead = 24

// EgressOptions says what an Egress is.
type EgressOptions struct {
	Rate   float64  // bit/s, of frames with preamble, check sequence and gap
	Buffer int      // bytes of frames that wait, the one on the wire among them
	RED    *ecn.RED // how frames that leave are marked; nil: not at all
	Seed   uint64   // of the chance by which they are
}

// Egress is the port of a switch through which RoCEv2 packets leave: a queue that the
// wire empties at its rate, that takes nothing beyond its buffer (tail drop), and that
// sets Congestion Experienced on what leaves it, with the probability that RED gives for
// the bytes that a packet leaves behind. Only packets with ECT are marked (RFC 3168,
// section 5); others are not dropped in place of it.
//
// It is pure: times are arguments, and must not go back. It is not safe for concurrent
// use.
type Egress struct {
	o      EgressOptions
	rand   *rand.Rand
	queue  []waiting
	bytes  int        // of the frames in the queue
	free   clock.Time // when the wire has sent what left last
	counts EgressCounts
	behind uint64 // bytes that packets left behind, in all
}

// waiting is a frame in the queue.
type waiting struct {
	frame   []byte
	arrived clock.Time
}

// EgressCounts is what an Egress has done.
type EgressCounts struct {
	Forwarded uint64  // packets that left
	Bytes     uint64  // that they took of the wire
	Marked    uint64  // of the packets that left, those that were marked here
	Dropped   uint64  // packets that found no room
	MaxQueue  int     // bytes
	MeanQueue float64 // bytes, that each packet left behind
}

// NewEgress makes an Egress with an empty queue.
func NewEgress(o EgressOptions) (*Egress, error) {
	if !(o.Rate > 0) {
		return nil, fmt.Errorf("testwire: rate of %g bit/s; it must be more than 0", o.Rate)
	}
	if o.Buffer < 1 {
		return nil, fmt.Errorf("testwire: buffer of %d bytes; it must have room for a frame", o.Buffer)
	}
	if o.RED != nil {
		if err := o.RED.Validate(); err != nil {
			return nil, fmt.Errorf("testwire: %w", err)
		}
	}
	return &Egress{o: o, rand: rand.New(rand.NewPCG(o.Seed, 0))}, nil
}

// Take puts a copy of a frame into the queue, or drops it.
func (e *Egress) Take(now clock.Time, frame []byte) {
	if e.bytes+len(frame) > e.o.Buffer {
		e.counts.Dropped++
		return
	}
	e.queue = append(e.queue, waiting{bytes.Clone(frame), now})
	e.bytes += len(frame)
	e.counts.MaxQueue = max(e.counts.MaxQueue, e.bytes)
}

// Next is when the first frame of the queue will have been sent, Never if there is none.
// A frame's turn comes when the one before it has been sent: the wire keeps no credit of
// the time that it was idle.
func (e *Egress) Next() clock.Time {
	if len(e.queue) == 0 {
		return clock.Never
	}
	first := e.queue[0]
	return max(e.free, first.arrived).Add(e.duration(first.frame))
}

// duration is how long the wire takes for a frame.
func (e *Egress) duration(frame []byte) time.Duration {
	return time.Duration(float64(len(frame)+ethernetOverhead) * 8 * float64(time.Second) / e.o.Rate)
}

// Leave takes the first frame from the queue, if it has been sent by now.
func (e *Egress) Leave(now clock.Time) (frame []byte, ok bool) {
	next := e.Next()
	if next > now {
		return nil, false
	}
	frame = e.queue[0].frame
	e.queue[0] = waiting{}
	e.queue = e.queue[1:]
	e.bytes -= len(frame)
	e.free = next
	e.mark(frame)
	e.count(frame)
	return frame, true
}

// mark marks a frame that leaves, by chance.
func (e *Egress) mark(frame []byte) {
	if e.o.RED == nil || e.rand.Float64() >= e.o.RED.Probability(e.bytes) {
		return
	}
	p, ok := parsePacket(frame)
	if !ok || p.ecn() == wire.NotECT || p.ecn() == wire.CE {
		return
	}
	p.mark()
	e.counts.Marked++
}

// count counts a frame that leaves.
func (e *Egress) count(frame []byte) {
	e.counts.Forwarded++
	e.counts.Bytes += uint64(len(frame) + ethernetOverhead)
	e.behind += uint64(e.bytes)
}

// Counts returns what was done so far.
func (e *Egress) Counts() EgressCounts {
	c := e.counts
	if c.Forwarded > 0 {
		c.MeanQueue = float64(e.behind) / float64(c.Forwarded)
	}
	return c
}
