package simnet

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Defaults of a link.
const (
	DefaultMTU     = 1500                   // bytes of IP packet
	DefaultLatency = 2500 * time.Nanosecond // 5 µs from link to link
	DefaultQueue   = 256                    // packets
	DefaultBuffer  = 1 << 20                // bytes
)

// inboxLimit is the number of received frames that wait for Recv; more are
// dropped, as a receive ring or a socket buffer would.
const inboxLimit = 4096

// Link is one attachment to the world's switch. It implements [link.Link],
// [link.Seeded] and [link.Rated].
type Link struct {
	world *World
	name  string
	addrs []netip.Addr
	seed  uint64

	mtu     int
	latency time.Duration
	rate    float64 // bytes per nanosecond, 0: unlimited
	limit   int     // packets in the ring
	buffer  int     // bytes at the switch's port

	joins     int // packets in a super-frame
	fragments bool
	hiddenIDs bool

	queue  queue
	closed bool
	port   port // the switch's port towards the link
}

// LinkOption is an option of [World.Link].
type LinkOption func(*Link)

// MTU is the largest IP packet in bytes that the link carries, in both directions;
// larger ones are dropped at the switch.
func MTU(bytes int) LinkOption { return func(l *Link) { l.mtu = bytes } }

// Latency is the time that a frame takes from the link to the switch, and from the
// switch to the link.
func Latency(d time.Duration) LinkOption { return func(l *Link) { l.latency = d } }

// Bandwidth makes frames take time by their size, in both directions, at so many
// bits per second. The default, 0, is without limit.
func Bandwidth(bitsPerSecond float64) LinkOption {
	return func(l *Link) { l.rate = bitsPerSecond / 8 / float64(time.Second) }
}

// Queue is the number of packets that wait for the link's transmitter, and as
// many again that one turn may reserve. It matters with Bandwidth.
func Queue(packets int) LinkOption { return func(l *Link) { l.limit = packets } }

// Buffer is the number of bytes that wait at the switch's port towards the link;
// what comes on top is dropped. It matters with Bandwidth.
func Buffer(bytes int) LinkOption { return func(l *Link) { l.buffer = bytes } }

func newLink(w *World, name string, addr netip.Addr, opts []LinkOption) *Link {
	l := &Link{
		world:   w,
		name:    name,
		addrs:   []netip.Addr{addr},
		mtu:     DefaultMTU,
		latency: DefaultLatency,
		limit:   DefaultQueue,
		buffer:  DefaultBuffer,
	}
	for _, o := range opts {
		o(l)
	}
	random := rand.NewPCG(w.seed, nameHash(name))
	l.seed = random.Uint64()
	l.queue.init(l, random)
	return l
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Name is "sim" and the link's name.
func (l *Link) Name() string { return "sim " + l.name }

// Addrs are the link's addresses in the order in which they were given.
func (l *Link) Addrs() []netip.Addr { return slices.Clone(l.addrs) }

// MTU is the largest IP packet in bytes.
func (l *Link) MTU() int { return l.mtu }

// Seed derives from the world's seed and the link's name: see [link.Seeded].
func (l *Link) Seed() uint64 { return l.seed }

// BitsPerSecond is the link's bandwidth: see [link.Rated].
func (l *Link) BitsPerSecond() float64 { return l.rate * 8 * float64(time.Second) }

// Resolve checks that the link has the source and the world the destination
// address.
func (l *Link) Resolve(p *wire.Path) error {
	if !slices.Contains(l.addrs, p.Src) {
		return fmt.Errorf("simnet: link %q cannot send from %v: its addresses are %v", l.name, p.Src, l.addrs)
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if l.world.byAddr[p.Dst] == nil {
		return fmt.Errorf("simnet: link %q cannot reach %v: the addresses of the world are %v",
			l.name, p.Dst, l.world.addrs())
	}
	if p.Src.Is4() != p.Dst.Is4() {
		return fmt.Errorf("simnet: link %q cannot send from %v to %v: give two addresses of one family",
			l.name, p.Src, p.Dst)
	}
	return nil
}

// Queue is the link's only queue.
func (l *Link) Queue() link.Queue { return &l.queue }

// Inject sends any bytes as the UDP payload of a frame, with headers as given, past
// the queue and its ring: what a hostile or a broken peer would send. Nothing is
// checked; payload is copied.
func (l *Link) Inject(m link.Meta, payload []byte) { l.InjectSuper(m, payload, 0) }

// InjectSuper is Inject of a super-frame, whatever seg says its packets are.
func (l *Link) InjectSuper(m link.Meta, payload []byte, seg int) {
	w := l.world
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.frame()
	f.from, f.meta, f.seg = l, m, seg
	f.set(payload)
	w.inject(f)
}

// Close takes the link out of the world. What it sent goes on; frames to it are
// dropped; its name and addresses are free again.
func (l *Link) Close() error {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.world.detach(l)
	l.queue.close()
	return nil
}

// serialisation is the time that a frame takes on the link's wire.
func (l *Link) serialisation(f *frame) time.Duration {
	if l.rate == 0 {
		return 0
	}
	return time.Duration(float64(f.ipLen()+wire.EthernetOverhead) / l.rate)
}

var (
	_ link.Link   = (*Link)(nil)
	_ link.Seeded = (*Link)(nil)
	_ link.Rated  = (*Link)(nil)
)

// transmitter is one end of a wire: until when it is busy.
type transmitter struct{ busy clock.Time }

// take occupies the wire for d, from now or from when it is free, and returns the
// end of that.
func (t *transmitter) take(now clock.Time, d time.Duration) clock.Time {
	t.busy = max(t.busy, now).Add(d)
	return t.busy
}
