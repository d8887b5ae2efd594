package transport

// Event is a kind of asynchronous event, with the values and the words of
// ibv_event_type (IBTA vol. 1, 11.6.3), and two kinds beyond them.
type Event uint8

// Events of completion queues, queue pairs and shared receive queues.
const (
	EventCQError         Event = 0  // completions were lost
	EventQPFatal         Event = 1  // the queue pair failed for a reason outside the protocol
	EventRequestError    Event = 2  // the peer's request was invalid, and no receive tells of it
	EventAccessError     Event = 3  // the peer asked for memory that it may not touch
	EventCommEstablished Event = 4  // the peer's first request came, in RTR
	EventDrained         Event = 5  // SQD: all work that was begun has completed
	EventLimitReached    Event = 15 // fewer receives than the armed limit are left
	EventLastWQE         Event = 16 // the queue pair takes nothing more from its shared receive queue
)

// Events of the device and its port.
const (
	EventDeviceFatal Event = 8  // the device works no more
	EventPortActive  Event = 9  // packets pass again
	EventPortError   Event = 10 // packets do not pass
	EventGIDChange   Event = 18 // an address was added or removed
	EventPeerMoved   Event = 64 // the next hop to a peer has another MAC; unknown to verbs
	EventMTUChanged  Event = 65 // the interface's MTU is another one; unknown to verbs
)

var eventWords = [...]string{
	EventCQError:         "CQ error",
	EventQPFatal:         "local work queue catastrophic error",
	EventRequestError:    "invalid request local work queue error",
	EventAccessError:     "local access violation work queue error",
	EventCommEstablished: "communication established",
	EventDrained:         "send queue drained",
	EventDeviceFatal:     "local catastrophic error",
	EventPortActive:      "port active",
	EventPortError:       "port error",
	EventLimitReached:    "SRQ limit reached",
	EventLastWQE:         "last WQE reached",
	EventGIDChange:       "GID table change",
	EventPeerMoved:       "peer moved",
	EventMTUChanged:      "MTU change",
}

// String says the event in the words of ibv_event_type_str.
func (e Event) String() string { return name(eventWords[:], uint8(e), "event") }

// Fatal reports whether something stopped working for good.
func (e Event) Fatal() bool {
	return e == EventCQError || e == EventQPFatal || e == EventRequestError || e == EventAccessError || e == EventDeviceFatal
}
