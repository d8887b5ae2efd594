package transport

// Class is the kind of an outgoing packet: the engine paces and orders by it.
type Class uint8

// Classes.
const (
	ClassRequest      Class = iota // requester: SEND, WRITE, READ request, atomic
	ClassReadResponse              // responder: READ data and atomic results
	ClassAck                       // responder: ACK, NAK, RNR NAK
	ClassCNP                       // congestion notification

	NumClasses // how many there are
)

var classNames = [...]string{
	ClassRequest: "request", ClassReadResponse: "read response", ClassAck: "ack", ClassCNP: "cnp",
}

// String names the class.
func (c Class) String() string { return name(classNames[:], uint8(c), "class") }

// ClassMask is a set of classes.
type ClassMask uint8

// Mask returns the set that holds c alone.
func (c Class) Mask() ClassMask { return 1 << c }

// Has reports whether c is in the set.
func (m ClassMask) Has(c Class) bool { return m&c.Mask() != 0 }

// AllClasses is the set of all classes that wait their turn: not [ClassCNP].
const AllClasses ClassMask = 1<<ClassRequest | 1<<ClassReadResponse | 1<<ClassAck

// Cause is why a packet is sent. It goes into the trace.
type Cause uint8

// Causes.
const (
	CauseFirst        Cause = iota // first transmission
	CauseTimeout                   // retransmission: no acknowledgement in time
	CauseNAK                       // retransmission: the peer reported a gap
	CauseImpliedNAK                // retransmission: a READ or atomic answer was lost
	CauseOverdue                   // retransmission: no answer within the usual round trip
	CauseRNR                       // retransmission: the peer's RNR delay is over
	CauseAnswer                    // READ or atomic answer
	CauseReplay                    // READ or atomic answer to a duplicate
	CauseAck                       // cumulative acknowledgement that the peer asked for
	CauseAckDuplicate              // acknowledgement of a duplicate
	CauseNAKSequence               // a request is missing
	CauseNAKInUse                  // a SEND would invalidate a key that READ answers before it needed
	CauseNAKNotReady               // no receive posted
	CauseNAKFatal                  // a request broke a rule
	CauseCNP                       // a switch had marked what the peer sent

	NumCauses // how many there are
)

var causeWords = [...]string{
	CauseFirst:        "first transmission",
	CauseTimeout:      "retransmission: no acknowledgement in time",
	CauseNAK:          "retransmission: the peer reported a gap",
	CauseImpliedNAK:   "retransmission: a READ or atomic answer was lost",
	CauseOverdue:      "retransmission: no answer within the round trips measured",
	CauseRNR:          "retransmission: the peer's RNR delay is over",
	CauseAnswer:       "answer",
	CauseReplay:       "answer repeated for a duplicate request",
	CauseAck:          "acknowledges everything up to its PSN",
	CauseAckDuplicate: "acknowledges a duplicate: everything up to the newest",
	CauseNAKSequence:  "NAK: a request before the one received is missing",
	CauseNAKInUse:     "NAK: SEND with invalidate asked for again, now that the READ before it is answered",
	CauseNAKNotReady:  "RNR NAK: no receive posted",
	CauseNAKFatal:     "NAK: the request broke a rule",
	CauseCNP:          "congestion notification: a switch had marked a packet of the peer's",
}

// String says the cause in words.
func (c Cause) String() string { return name(causeWords[:], uint8(c), "cause") }

// Retransmission reports whether the packet repeats one sent before.
func (c Cause) Retransmission() bool { return c >= CauseTimeout && c <= CauseRNR }

// Blocked is why a machine has nothing to send.
type Blocked uint8

// Reasons.
const (
	NotBlocked       Blocked = iota
	BlockedEmpty             // no work posted
	BlockedState             // the QP's state sends nothing
	BlockedWindow            // the send window is full
	BlockedFence             // a fenced request waits for earlier READs and atomics
	BlockedReadLimit         // as many READs and atomics outstanding as the peer takes
	BlockedRNR               // the peer asked to wait
	BlockedDrain             // the send queue is drained, or about to be
	BlockedCredits           // the peer has no receive posted for the next message
	BlockedProbe             // whether the peer kept what came behind a gap is to be seen first
	BlockedFailing           // the next request cannot be sent and fails when it is the oldest
)

var blockedWords = [...]string{
	NotBlocked:       "not blocked",
	BlockedEmpty:     "no work posted",
	BlockedState:     "state",
	BlockedWindow:    "send window full",
	BlockedFence:     "fence",
	BlockedReadLimit: "READ/atomic limit reached",
	BlockedRNR:       "waiting out an RNR NAK",
	BlockedDrain:     "send queue drain",
	BlockedCredits:   "out of credits",
	BlockedProbe:     "waiting to see whether the peer kept what came behind a gap",
	BlockedFailing:   "next request cannot be sent",
}

// String says the reason in words.
func (b Blocked) String() string { return name(blockedWords[:], uint8(b), "blocked") }
