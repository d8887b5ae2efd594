package hostnet

import (
	"errors"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Monitor reports what changes in a network namespace, on any interface, from its
// opening on. Any goroutine may call its methods.
type Monitor struct {
	handle  *Handle
	events  *events
	known   *tables
	changes chan Change
	closed  chan struct{} // by Close
	ended   chan struct{} // by run
	once    sync.Once
}

// NewMonitor opens a monitor of the handle's namespace. It lives on when the handle
// is closed; the caller closes it.
func (h *Handle) NewMonitor() (m *Monitor, err error) {
	err = h.ns.do(func() error {
		m, err = newMonitor()
		return err
	})
	return m, err
}

// newMonitor opens a monitor of the calling thread's namespace.
func newMonitor() (*Monitor, error) {
	handle, err := NewHandle()
	if err != nil {
		return nil, err
	}
	// Subscribed first, read then: what changes in between is told, not missed.
	events, err := subscribe()
	if err != nil {
		handle.Close()
		return nil, err
	}
	now, err := handle.read()
	if err != nil {
		events.close()
		handle.Close()
		return nil, err
	}
	m := &Monitor{
		handle: handle, events: events, known: newTables(),
		changes: make(chan Change, 64), closed: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, c := range now {
		m.known.apply(c)
	}
	go m.run()
	return m, nil
}

// Changes is the monitor's one channel of changes, in the order in which they
// happened; Close closes it. None is lost: where the kernel could not keep all because
// nobody took them, the monitor reads the tables anew and reports what differs, the
// last state of each thing.
func (m *Monitor) Changes() <-chan Change { return m.changes }

// Close ends the monitor.
func (m *Monitor) Close() error {
	var err error
	m.once.Do(func() {
		close(m.closed)
		err = m.events.close()
		<-m.ended
		err = errors.Join(err, m.handle.Close())
	})
	return err
}

// run reports changes until Close.
func (m *Monitor) run() {
	defer close(m.ended)
	defer close(m.changes)
	stale := false // changes were lost and the tables not read since
	for {
		messages, err := m.events.receive()
		lost := errors.Is(err, unix.ENOBUFS)
		if err != nil && !lost {
			return // closed
		}
		if lost || stale {
			stale = !m.resync()
			continue
		}
		for _, msg := range messages {
			if c, ok := parseChange(msg); ok {
				m.report(c)
			}
		}
	}
}

// resync reports what differs from the tables of the kernel. What the kernel told
// before is older than these, and would undo them. It is false if they could not be
// read.
func (m *Monitor) resync() bool {
	m.events.drain()
	list, err := m.handle.read()
	if err != nil {
		return false
	}
	now := newTables()
	for _, c := range list {
		now.apply(c)
	}
	for _, c := range append(m.known.without(now), list...) {
		m.report(c)
	}
	return true
}

// report hands a change on, if it is news.
func (m *Monitor) report(c Change) {
	if !m.known.apply(c) {
		return
	}
	select {
	case m.changes <- c:
	case <-m.closed:
	}
}

// read returns the kernel's tables, as the changes that make them.
func (h *Handle) read() (list []Change, err error) {
	links, err := dump("interfaces", h.nl.LinkList)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		list = append(list, linkChange(l))
	}
	addrs, err := h.addrs()
	if err != nil {
		return nil, err
	}
	for index, prefixes := range addrs {
		for _, p := range prefixes {
			list = append(list, Change{Kind: AddrAdded, IfIndex: index, Addr: p.Addr()})
		}
	}
	neighbours, err := dump("neighbours", func() ([]netlink.Neigh, error) { return h.nl.NeighList(0, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, err
	}
	for n := range neighbours {
		if c, ok := neighbourChange(&neighbours[n]); ok && c.Kind == NeighbourChanged {
			list = append(list, c)
		}
	}
	return list, nil
}
