package roce

import (
	"fmt"
	"sync"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/transport"
)

// EventKind is the kind of an [Event] [ibv_event_type]; its words are those of
// ibv_event_type_str.
type EventKind = transport.Event

// Kinds of events.
const (
	EventCQError         = transport.EventCQError         // CQ: completions were lost [IBV_EVENT_CQ_ERR]
	EventQPFatal         = transport.EventQPFatal         // QP: failed for a reason outside the protocol [IBV_EVENT_QP_FATAL]
	EventRequestError    = transport.EventRequestError    // QP: the peer's request was invalid [IBV_EVENT_QP_REQ_ERR]
	EventAccessError     = transport.EventAccessError     // QP: the peer asked for memory it may not touch [IBV_EVENT_QP_ACCESS_ERR]
	EventCommEstablished = transport.EventCommEstablished // QP: the peer's first request came, in RTR [IBV_EVENT_COMM_EST]
	EventDrained         = transport.EventDrained         // QP: in SQD, nothing is under way any more [IBV_EVENT_SQ_DRAINED]
	EventLastWQE         = transport.EventLastWQE         // QP: takes nothing more from its SRQ [IBV_EVENT_QP_LAST_WQE_REACHED]
	EventLimitReached    = transport.EventLimitReached    // SRQ: fewer receives than the armed limit [IBV_EVENT_SRQ_LIMIT_REACHED]

	EventDeviceFatal = transport.EventDeviceFatal // the link failed for good, and all work with it: see Event.Err [IBV_EVENT_DEVICE_FATAL]
	EventPortActive  = transport.EventPortActive  // packets pass again [IBV_EVENT_PORT_ACTIVE]
	EventPortError   = transport.EventPortError   // the interface went down [IBV_EVENT_PORT_ERR]
	EventGIDChange   = transport.EventGIDChange   // an address came or went: see Event.Port [IBV_EVENT_GID_CHANGE]
	EventPeerMoved   = transport.EventPeerMoved   // the next hop to a peer has another MAC: see Event.Port
	EventMTUChanged  = transport.EventMTUChanged  // the interface's MTU changed: see Event.Port
)

// Event is something that happened to a device or to what was made from it, and that
// no completion tells of [ibv_async_event]. One of QP, CQ and SRQ is set if it was one
// of those; it may have been closed since.
type Event struct {
	Kind EventKind
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Err  error      // of EventDeviceFatal: why
	Port link.Event // of the port's events: what changed below the device
}

// String says what happened, and to what.
func (e Event) String() string {
	switch {
	case e.QP != nil:
		return fmt.Sprintf("%s: %s", e.QP, e.Kind)
	case e.CQ != nil:
		return fmt.Sprintf("%s: %s", e.CQ, e.Kind)
	case e.SRQ != nil:
		return fmt.Sprintf("%s: %s", e.SRQ, e.Kind)
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Port)
}

// Events are kept for who does not take them: ordinary ones as long as there are
// fewer than eventDepth, fatal ones in the rest too.
const (
	eventDepth = 256
	fatalDepth = 256
)

// Events is the device's one channel of events, closed when the device is. Of events
// that nobody takes the first 256 are kept, and 256 fatal ones more ([EventKind.Fatal]);
// [Device.Stats] counts those that were lost, and states can always be asked for: see
// [QP.Err], [SRQ.Attr], [Device.Port]. Events of queue pairs come after the
// completions that belong to them. Links that do not watch the host's network tell
// nothing of it [ibv_get_async_event].
func (d *Device) Events() <-chan Event { return d.events.out }

// eventQueue is a device's events on their way to the application. Telling never
// blocks.
type eventQueue struct {
	out chan Event

	mu              sync.Mutex
	closed          bool
	lost, lostFatal uint64
}

func newEventQueue() *eventQueue { return &eventQueue{out: make(chan Event, eventDepth+fatalDepth)} }

// tell passes an event on, or counts it as lost.
func (q *eventQueue) tell(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	fatal := e.Kind.Fatal()
	switch {
	case q.closed:
	case len(q.out) < eventDepth, fatal && len(q.out) < cap(q.out):
		q.out <- e
	case fatal:
		q.lostFatal++
	default:
		q.lost++
	}
}

// close closes the channel; what happens later is nobody's business.
func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.out)
}

// counters lists what was lost.
func (q *eventQueue) counters() (list []Counter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range []Counter{
		{Name: "events lost, nobody took them", Value: q.lost},
		{Name: "fatal events lost, nobody took them", Value: q.lostFatal},
	} {
		if c.Value != 0 {
			list = append(list, c)
		}
	}
	return list
}

// watch passes the link's events on, until the link is closed.
func (d *Device) watch() {
	w, ok := d.link.(link.Watched)
	if !ok {
		close(d.watched)
		return
	}
	go func() {
		defer close(d.watched)
		for e := range w.Events() {
			d.happened(e, w.State())
		}
	}()
}

// portEvent is the kind of a link's event that the device survives.
func portEvent(k link.EventKind) EventKind {
	switch k {
	case link.PortActive:
		return EventPortActive
	case link.PortDown:
		return EventPortError
	case link.AddrAdded, link.AddrRemoved:
		return EventGIDChange
	case link.PeerMoved:
		return EventPeerMoved
	default:
		return EventMTUChanged
	}
}

// happened passes one event of the link on. A device whose interface is gone fails
// its queue pairs: nothing else would end their work. The state tells it even if so much
// happened that the link kept no event of it.
func (d *Device) happened(e link.Event, state link.State) {
	if state == link.Gone {
		d.shard.Fail(fmt.Errorf("roce: %s: the interface was deleted; close the device and open another", d.Name()))
	}
	if e.Kind != link.DeviceGone { // that the shard tells
		d.events.tell(Event{Kind: portEvent(e.Kind), Port: e})
	}
}

// failed tells that the device works no more.
func (q *eventQueue) failed(err error) { q.tell(Event{Kind: EventDeviceFatal, Err: err}) }
