package fault

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Frame is a frame that meets the rules: a RoCEv2 packet, or what should be one.
type Frame struct {
	From, To string   // the ends between which it travels
	Payload  []byte   // of UDP: BTH … ICRC; bits of it are flipped in place
	ECN      wire.ECN // as it is before the rules
}

// Fate is what shall be done to a frame. The zero Fate lets it pass as it is.
type Fate struct {
	Drop       bool
	Copies     int           // of it that shall arrive besides itself, at once
	Delay      time.Duration // before it goes on
	Overtakers int           // later frames of its direction that shall pass before it goes on; Delay is void then
	Flipped    int           // bits of the payload that were flipped
	Mark       bool          // its ECN field shall be CE
}

// crossing is a frame before the rules, and what they have said so far.
type crossing struct {
	frame    Frame
	packet   bth.Packet
	isPacket bool
	fate     Fate
}

// enter makes the crossing that of a frame. It reads the headers; of a broken packet
// only the BTH.
func (c *crossing) enter(f Frame) {
	c.frame, c.fate, c.packet = f, Fate{}, bth.Packet{}
	c.isPacket = len(f.Payload) >= bth.BTHLen+wire.ICRCLen
	if c.isPacket {
		c.packet.Parse(f.Payload[:len(f.Payload)-wire.ICRCLen], nil)
	}
}

func (c *crossing) lose() bool {
	c.fate.Drop = true
	return true
}

func (c *crossing) copy() bool {
	c.fate.Copies++
	return true
}

func (c *crossing) delay(d time.Duration) bool {
	c.fate.Delay += d
	return true
}

func (c *crossing) reorder(overtakers int) bool {
	c.fate.Overtakers = max(c.fate.Overtakers, overtakers)
	return true
}

func (c *crossing) flip(bit int) bool {
	b := c.frame.Payload
	if bit < 0 {
		bit += 8 * len(b)
	}
	if bit < 0 || bit >= 8*len(b) {
		return false
	}
	b[bit/8] ^= 0x80 >> (bit % 8)
	c.fate.Flipped++
	return true
}

func (c *crossing) mark() bool {
	if ecn := c.frame.ECN; ecn != wire.ECT0 && ecn != wire.ECT1 {
		return false
	}
	c.fate.Mark = true
	return true
}
