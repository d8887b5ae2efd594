package flowsim

import (
	"math/rand/v2"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// bottleneck is the queue that all packets go through. What waits is the numbers of
// their flows.
type bottleneck struct {
	ring[int32]
	service instant // of one packet
	leaves  instant // when the first of the queue has left
	room    int     // packets
	packet  int     // bytes

	red     ecn.RED
	fixed   float64
	random  *rand.PCG
	lengths lengths
}

func (b *bottleneck) init(c *Config, random *rand.PCG) {
	b.service, b.leaves = spacing(c.Packet, c.Capacity), never
	b.room, b.packet = c.Buffer/c.Packet, c.Packet
	b.red, b.fixed, b.random = c.RED, c.Marking, random
}

// join takes a packet of a flow in, unless the buffer is full.
func (b *bottleneck) join(now instant, flow int32) bool {
	if b.len >= b.room {
		return false
	}
	b.lengths.was(b.len, now)
	if b.len == 0 {
		b.leaves = now + b.service
	}
	b.push(flow)
	return true
}

// leave lets the first packet out, when it has left, and says whether it is marked.
func (b *bottleneck) leave(now instant) (flow int32, marked bool) {
	b.lengths.was(b.len, now)
	flow = b.pop()
	b.leaves = never
	if b.len > 0 {
		b.leaves = now + b.service
	}
	return flow, b.chance(b.probability())
}

func (b *bottleneck) probability() float64 {
	if b.fixed != 0 {
		return b.fixed
	}
	return b.red.Probability(b.len * b.packet)
}

// chance throws the dice, with 53 bits, so that every CPU decides alike.
func (b *bottleneck) chance(probability float64) bool {
	const bits = 53
	return probability > 0 && int64(b.random.Uint64()>>(64-bits)) < int64(probability*(1<<bits))
}

// lengths is for how long the queue was how long.
type lengths struct {
	since instant   // that is not in it yet
	time  []instant // by packets in the queue
	area  int64     // integral of the packets since the last sample, in picoseconds
	most  int       // packets since the last sample
}

// was tells that the queue had n packets until now.
func (l *lengths) was(n int, now instant) {
	for n >= len(l.time) {
		l.time = append(l.time, make([]instant, 1+len(l.time))...)
	}
	d := now - l.since
	l.time[n] += d
	l.area += int64(n) * int64(d)
	l.most = max(l.most, n)
	l.since = now
}
