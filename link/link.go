// Package link is the boundary between the engine and the network: what a link
// must offer so that the engine can send and receive RoCEv2 packets through it.
//
// Links own Ethernet, IP and UDP, the choice of the IPv4 identification, the
// grouping into super-frames and all memory of frames. The engine fills [Slot]s
// and seals their ICRC with the identification that the slot carries.
package link

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/wire"
)

// Limits of the boundary.
const (
	MaxSGE     = 16   // pieces of payload in one packet
	MaxHeader  = 64   // bytes of BTH and extension headers
	MaxTail    = 8    // bytes of pad and ICRC
	MaxPayload = 4096 // bytes of payload in one packet
)

// Link is one attachment to a network: a set of addresses and one or more queues.
//
// Addrs, MTU and Name are constant after opening. Methods are safe for concurrent
// use unless a [Queue] method says otherwise.
type Link interface {
	// Name says what the link is, such as "udp 127.0.0.1" or "sim a".
	Name() string
	// Addrs are the local addresses that can be used as GIDs, the default first.
	Addrs() []netip.Addr
	// MTU is the largest IP packet the link carries, in bytes.
	MTU() int
	// Resolve prepares a path for sending: it fills Path.Link (and MACs where the
	// link needs them). It may block; the error says which address lacks what.
	Resolve(p *wire.Path) error
	// Queue is the link's queue. A link with several queues offers them by an
	// interface of its own.
	Queue() Queue
	// Close releases the link. The queue must be parked or idle; a parked Park
	// returns.
	Close() error
}

// Queue is one pair of send and receive queues, owned by one engine shard. Except
// Park and Wake, its methods are called under the shard's lock.
type Queue interface {
	// Now is the link's clock. The engine reads it once per turn.
	Now() clock.Time

	// Room is the number of packets of maximal size that Reserve takes for certain.
	Room() int
	// Reserve begins a packet of hdr header bytes, the payload pieces pay and pad
	// pad bytes to path p, and sets s: s.Head has hdr bytes for the caller to fill,
	// s.Body refers to the payload bytes that will go out (the caller's, if the link
	// gathers, or the link's copy; always a copy when mustCopy), s.Tail has pad+4
	// bytes for pad and ICRC, s.ID the IPv4 identification that the packet will
	// carry. It cannot fail when Room was positive. A caller's payload must stay
	// valid until Flush.
	Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, mustCopy bool, s *Slot)
	// Flush sends what was reserved. Afterwards no caller's memory is referenced:
	// what the network did not take stays in the link, copied, and pending says how
	// many packets that is. err is a failure that later calls will not mend.
	Flush() (pending int, err error)

	// Recv receives without blocking and returns the number of entries set in rx.
	// Frames are lent until Release.
	Recv(rx []Rx) int
	// Release gives all frames lent by Recv back. It need not be called when there are
	// none.
	Release()

	// Arm prepares to sleep until a packet arrives, Flush can make progress (if
	// Interest.Tx) or the deadline passes. The caller then looks for work once more,
	// unlocks, and calls Park; or calls Disarm. Arm may be called again to move the
	// deadline forward while another goroutine is in Park.
	Arm(until clock.Time, i Interest)
	// Park sleeps as armed, without the shard's lock, and returns also after Wake.
	Park()
	// Disarm ends the armed state, under the lock.
	Disarm()
	// Wake makes a current or the next Park return. Any goroutine may call it.
	Wake()
}

// Interest is what ends a Park besides the deadline and Wake.
type Interest struct {
	Rx bool // a packet arrived
	Tx bool // the network takes packets again
}

// Slot is one packet being built: see [Queue.Reserve].
type Slot struct {
	Head  []byte         // BTH and extension headers
	Body  [MaxSGE][]byte // payload as it will go out
	NBody int
	Tail  []byte // pad and ICRC
	ID    uint16 // IPv4 identification
}

// Rx is one received frame: the UDP payload (BTH … ICRC) of one packet, or of
// several packets of Seg bytes in a row of which the last may be shorter.
// The headers of a packet never straddle the two fragments.
type Rx struct {
	Frag [2][]byte
	Seg  int // bytes per packet, 0: a single packet
	Meta Meta
}

// Meta is what the link knows of a received frame.
type Meta struct {
	Src, Dst netip.Addr
	SrcPort  uint16
	ECN      uint8  // two bits of the IP header
	VLAN     uint16 // tag control information, 0: untagged
	ID       uint16 // IPv4 identification of the first packet, if IDKnown
	IDKnown  bool
	Flags    uint16 // IPv4 flags and fragment offset; wire.DontFragment where the link cannot see them
}

// Counter is a number with a name.
type Counter struct {
	Name  string
	Value uint64
}

// Counted is implemented by links that drop or refuse packets by themselves: what
// they count is shown with the device's counters. Any goroutine may call it.
type Counted interface {
	Counters() []Counter
}

// Rated is implemented by links that may know how fast they are.
type Rated interface {
	// BitsPerSecond is what the link can send, in bit/s, everything on the wire counted,
	// when it was opened; 0 if it does not know.
	BitsPerSecond() float64
}

// Seeded is implemented by links of a simulated network: a device opened on one
// draws its keys, QPNs and PSNs from the seed, so that a run repeats to the byte.
type Seeded interface {
	Seed() uint64
}

// headerReserve is what the headers around a payload need of a link MTU at most:
// IPv6 40, UDP 8, BTH 12, XRCETH 4, AtomicETH 28, ICRC 4 (kernel: iboe_get_mtu).
const headerReserve = 96

// PathMTU is the largest path MTU (256, 512, 1024, 2048 or 4096) that fits a link
// MTU, or 0 if none does.
func PathMTU(linkMTU int) int {
	for m := MaxPayload; m >= 256; m /= 2 {
		if m+headerReserve <= linkMTU {
			return m
		}
	}
	return 0
}
