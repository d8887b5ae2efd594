package roce

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	randv2 "math/rand/v2"
	"net"
	"slices"
	"sync"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/wire"
)

// Device is a RoCEv2 adapter in software, on one link. All methods are safe for
// concurrent use.
type Device struct {
	link   link.Link
	shard  *engine.Shard
	memory *mr.Table
	manual bool
	// addresses, unless nil, is where default addresses of regions come from.
	addresses func() uint64

	events  *eventQueue
	watched chan struct{} // closed when no more events come from the link

	mu       sync.Mutex
	closed   bool
	closing  chan struct{} // closed when Close is done
	closeErr error
	pds      map[*PD]struct{}
	cqs      map[*CQ]struct{}

	// Numbers given last.
	newestPD            mr.PD
	newestCQ, newestSRQ int
}

// Open makes a device on a link and, unless it is [Manual], starts it. The device
// owns the link from then on, also if Open fails [ibv_open_device].
//
// Keys, queue pair numbers and PSNs are random; on a link of a simulated network
// they derive from its seed.
func Open(l link.Link, opts ...Option) (*Device, error) {
	if link.PathMTU(l.MTU()) == 0 {
		err := fmt.Errorf("roce: open %s: its MTU of %d bytes cannot carry even 256 bytes of payload; raise it", l.Name(), l.MTU())
		return nil, errors.Join(err, l.Close())
	}
	var o options
	for _, set := range opts {
		set(&o)
	}
	seed, simulated := seedFor(l)
	memory := mr.NewTable(stream(seed, 0))
	events := newEventQueue()
	shard := engine.New(engine.Config{
		Link: l, Memory: memory, Mode: o.mode, Tap: o.tap, ICRC: o.icrc, Rand: stream(seed, 1), Failed: events.failed,
	})
	d := &Device{
		link: l, shard: shard, memory: memory, manual: o.mode == engine.Manual, closing: make(chan struct{}),
		events: events, watched: make(chan struct{}),
		pds: make(map[*PD]struct{}), cqs: make(map[*CQ]struct{}),
	}
	if simulated {
		d.addresses = stream(seed, 2)
	}
	d.watch()
	return d, nil
}

// seedFor is the link's seed, or a random one.
func seedFor(l link.Link) (seed [32]byte, simulated bool) {
	if s, ok := l.(link.Seeded); ok {
		binary.BigEndian.PutUint64(seed[:], s.Seed())
		return seed, true
	}
	rand.Read(seed[:]) // never fails
	return seed, false
}

// stream is an unpredictable sequence of its own for each number.
func stream(seed [32]byte, number byte) func() uint64 {
	seed[len(seed)-1] ^= number
	return randv2.NewChaCha8(seed).Uint64
}

// Name is the link's name, such as "udp 10.0.0.1" [ibv_get_device_name].
func (d *Device) Name() string { return d.link.Name() }

// GIDs are the device's addresses, the default first.
func (d *Device) GIDs() []GID {
	addrs := d.link.Addrs()
	gids := make([]GID, len(addrs))
	for i, a := range addrs {
		gids[i] = wire.GIDOf(a)
	}
	return gids
}

// GID is the address with an index [ibv_query_gid].
func (d *Device) GID(i int) (GID, error) {
	gids := d.GIDs()
	if i < 0 || i >= len(gids) {
		return GID{}, fmt.Errorf("roce: %s has no GID with index %d: there are %d", d.Name(), i, len(gids))
	}
	return gids[i], nil
}

// Poll does what there is to do and reports whether that was anything. A [Manual]
// device lives by it; others need no help.
func (d *Device) Poll() (worked bool) { return d.shard.Poll() }

// NextDeadline is when a [Manual] device has to be polled even if nothing arrived
// and nothing was posted: an instant of the link's clock, clock.Never if not before.
func (d *Device) NextDeadline() clock.Time { return d.shard.NextDeadline() }

// Counter is a number with a name.
type Counter = link.Counter

// Stats returns the device's counters that are not zero: traffic, for every rule that
// decided the fate of a packet how often it did, events that nobody took, and what the
// link dropped or refused by itself.
func (d *Device) Stats() []Counter {
	var list []Counter
	c := d.shard.Counters()
	for name, value := range c.All() {
		list = append(list, Counter{Name: name, Value: value})
	}
	list = append(list, d.events.counters()...)
	if l, ok := d.link.(link.Counted); ok {
		list = append(list, l.Counters()...)
	}
	return list
}

// AllocPD makes a protection domain [ibv_alloc_pd].
func (d *Device) AllocPD() (*PD, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.closedErr("allocate a PD")
	}
	d.newestPD++
	pd := &PD{dev: d, id: d.newestPD, mrs: make(map[*MR]struct{}), mws: make(map[*MW]struct{}), qps: make(map[*QP]struct{}), srqs: make(map[*SRQ]struct{})}
	d.pds[pd] = struct{}{}
	return pd, nil
}

func (d *Device) closedErr(what string) error {
	return fmt.Errorf("roce: %s on %s: device: %w", what, d.Name(), net.ErrClosed)
}

// Close closes everything that was made from the device, then the device and its
// link [ibv_close_device]. Work under way is flushed; everybody who waits returns.
// Closing again waits for the first Close and returns its result.
//
// If a peer was answered within the last 150 ms, Close stays until they are over,
// to repeat the answer if it was lost. Queue pairs closed before it are not waited
// for.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		<-d.closing
		return d.closeErr
	}
	d.closed = true
	d.mu.Unlock()

	d.closeErr = d.shard.Close() // takes the queue pairs to ERR
	for _, pd := range d.listPDs() {
		pd.closeAll()
	}
	for _, c := range d.listCQs() {
		d.closeErr = errors.Join(d.closeErr, c.Close())
	}
	<-d.watched
	d.events.close()
	close(d.closing)
	return d.closeErr
}

func (d *Device) listPDs() []*PD {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Keys(d.pds), func(a, b *PD) int { return cmp.Compare(a.id, b.id) })
}

func (d *Device) listCQs() []*CQ {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Keys(d.cqs), func(a, b *CQ) int { return cmp.Compare(a.id, b.id) })
}
