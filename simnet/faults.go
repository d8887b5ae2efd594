package simnet

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Faults is the list of what goes wrong in a world. Every frame that reaches the
// switch meets the faults in the order in which they were added; a frame that one
// drops does not meet the others.
type Faults struct {
	world *World
	list  []*Fault
	held  []*frame // by reordering faults
	dice  *rand.Rand
	at    crossing
}

// Fault is something that happens to the frames of a [Match]. It keeps count, so
// each is added to one world, once.
type Fault struct {
	matcher
	do   func(*crossing) (done bool)
	hits int
}

// Add puts faults in force.
func (fs *Faults) Add(faults ...*Fault) {
	fs.world.mu.Lock()
	defer fs.world.mu.Unlock()
	fs.list = append(fs.list, faults...)
}

// Remove ends a fault: a partition heals.
func (fs *Faults) Remove(fault *Fault) {
	fs.world.mu.Lock()
	defer fs.world.mu.Unlock()
	fs.list = slices.DeleteFunc(fs.list, func(f *Fault) bool { return f == fault })
}

// Hits is the number of frames to which a fault has done something.
func (fs *Faults) Hits(fault *Fault) int {
	fs.world.mu.Lock()
	defer fs.world.mu.Unlock()
	return fault.hits
}

// crossing is a frame at the switch, and what faults want done to it.
type crossing struct {
	world    *World
	frame    *frame
	packet   bth.Packet
	isPacket bool

	drop       bool
	copies     int
	delay      time.Duration
	overtakers int
}

// judge asks all faults about a frame.
func (fs *Faults) judge(f *frame) *crossing {
	c := &fs.at
	c.world, c.frame = fs.world, f
	c.drop, c.copies, c.delay, c.overtakers = false, 0, 0, 0
	if len(fs.list) == 0 {
		return c
	}
	c.parse()
	for _, fault := range fs.list {
		if fault.match(c) && fault.do(c) {
			fault.hits++
		}
		if c.drop {
			break
		}
	}
	return c
}

// parse reads the headers; of a broken packet only the BTH.
func (c *crossing) parse() {
	b := c.frame.bytes()
	c.packet = bth.Packet{}
	c.isPacket = len(b) >= bth.BTHLen+wire.ICRCLen
	if c.isPacket {
		c.packet.Parse(b[:len(b)-wire.ICRCLen], nil)
	}
}

// overtaken: a frame has passed in this direction; those that waited for it go on.
func (fs *Faults) overtaken(from, to *Link) {
	for i := 0; i < len(fs.held); {
		f := fs.held[i]
		if f.from == from && f.to == to {
			f.overtakers--
		}
		if f.overtakers > 0 {
			i++
			continue
		}
		fs.held = slices.Delete(fs.held, i, i+1)
		fs.world.agenda.cancel(&f.event)
		fs.world.egress(f)
	}
}

// forget takes a frame that goes on off the list of those held.
func (fs *Faults) forget(f *frame) {
	if i := slices.Index(fs.held, f); i >= 0 {
		fs.held = slices.Delete(fs.held, i, i+1)
	}
}
