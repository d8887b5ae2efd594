package simnet

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/fault"
)

// World is a simulated network: links, the switch that joins them, the faults that
// happen there, and the clock. Its methods are safe for concurrent use, except
// those that make virtual time pass ([World.Run], [World.RunUntil], [World.Step],
// [World.Attach]), which belong to one goroutine.
type World struct {
	// Faults is what goes wrong at the switch.
	Faults fault.Set

	seed uint64
	time timekeeper

	mu     sync.Mutex // guards what follows and what belongs to frames and ports
	agenda agenda
	links  map[string]*Link
	byAddr map[netip.Addr]*Link
	held   []*frame // reordered ones, that others have to overtake
	spare  []*frame // in no use
	stats  Stats
	hooks  []func(FrameEvent)

	devices []Device
	rounds  int // of polling at the present instant
}

// Option is an option of [New].
type Option func(*World)

// RealTime makes the world follow real time, or the time of the synctest bubble in
// which it is made, instead of being run by [World.Run].
func RealTime() Option {
	return func(w *World) { w.time = newRealTime(w.catchUp) }
}

// New makes an empty world at time 0. Everything random in it (faults, the seeds
// of links) derives from seed.
func New(seed uint64, opts ...Option) *World {
	w := &World{
		seed:   seed,
		time:   new(virtualTime),
		links:  make(map[string]*Link),
		byAddr: make(map[netip.Addr]*Link),
	}
	w.Faults.SetSeed(seed)
	for _, o := range opts {
		o(w)
	}
	return w
}

// Now is the world's time.
func (w *World) Now() clock.Time { return w.time.now() }

// Link attaches a new link to the switch. name is its name in matches and events,
// addr its (first) address. A name or an address that another open link has is a
// mistake in the program: Link panics.
func (w *World) Link(name string, addr netip.Addr, opts ...LinkOption) *Link {
	l := newLink(w, name, addr, opts)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.links[name] != nil {
		panic(fmt.Sprintf("simnet: there is already a link %q", name))
	}
	for _, a := range l.addrs {
		if other := w.byAddr[a]; other != nil {
			panic(fmt.Sprintf("simnet: link %q cannot have address %v: link %q has it", name, a, other.name))
		}
	}
	w.links[name] = l
	for _, a := range l.addrs {
		w.byAddr[a] = l
	}
	return l
}

// detach removes a link; frames on their way to it will be dropped.
func (w *World) detach(l *Link) {
	delete(w.links, l.name)
	for _, a := range l.addrs {
		delete(w.byAddr, a)
	}
}

// addrs lists the addresses of the world, for error messages.
func (w *World) addrs() []netip.Addr {
	list := make([]netip.Addr, 0, len(w.byAddr))
	for a := range w.byAddr {
		list = append(list, a)
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

// catchUp lets everything happen that is due.
func (w *World) catchUp() {
	w.mu.Lock()
	w.happenDue()
	w.mu.Unlock()
}

// happenDue is catchUp under the lock.
func (w *World) happenDue() {
	for w.agenda.next() <= w.time.now() {
		w.agenda.pop().what.occur(w)
	}
	w.time.expect(w.agenda.next())
}

// schedule puts e on the agenda, or moves it.
func (w *World) schedule(e *event, at clock.Time) {
	w.agenda.schedule(e, at)
	w.time.expect(w.agenda.next())
}
