package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
)

// acks is what the responder owes besides READ and atomic answers: at most one
// acknowledgement, which is cumulative, and at most one NAK.
type acks struct {
	newest   bth.PSN // newest SEND or WRITE packet executed: what an ACK names
	ackOwed  bool
	ackCause transport.Cause

	nak         pendingNAK // syndrome 0: none
	gapReported bool       // packets behind the expected one get no further NAK

	// overfull: one of those found no room. Nothing else is held until the expected one
	// comes, so that holding makes no gaps of its own.
	overfull bool
}

// pendingNAK is a NAK to be sent.
type pendingNAK struct {
	syndrome bth.Syndrome
	psn      bth.PSN
	cause    transport.Cause
}

// owe notes that an acknowledgement has been asked for. However often that happens
// in a turn, one is sent.
func (a *acks) owe(cause transport.Cause) { a.ackOwed, a.ackCause = true, cause }

// arrived tells that the expected request is there: a NAK for it that has not been
// sent yet is no longer true.
func (a *acks) arrived() {
	a.gapReported, a.overfull = false, false
	a.nak = pendingNAK{}
}

// silence forgets everything owed: the queue pair failed.
func (r *responder) silence() {
	r.ackOwed = false
	r.nak = pendingNAK{}
	r.replay.silence()
}

// answer commits the next packet of the responder. Answers leave in the order of
// their requests, and acknowledgements and NAKs after them: an ACK names only what
// lies behind no unfinished READ (9.7.5.1.2). A NAK makes the acknowledgement before
// it superfluous, unless that has credits to tell, or requests are held: if one of
// those is a ghost, the NAK may name what the peer never sent, and be ignored.
func (m *Machine) answer(allow transport.ClassMask, o *Out) bool {
	if m.replay.pending > 0 {
		return allow.Has(transport.ClassReadResponse) && m.answerRequest(allow, o)
	}
	if !allow.Has(transport.ClassAck) {
		return false
	}
	if m.ackOwed && (m.nak.syndrome == 0 || m.counts() || m.reorder.first != nil) {
		m.acknowledge(o, m.ack(), m.newest, m.ackCause)
		m.ackOwed = false
		return true
	}
	if m.nak.syndrome != 0 {
		m.acknowledge(o, m.nak.syndrome, m.nak.psn, m.nak.cause)
		m.nak = pendingNAK{}
		m.ackOwed = false // a NAK acknowledges everything before its PSN
		return true
	}
	return false
}

// acknowledge makes an Acknowledge packet. Its MSN is today's, whatever it answers.
func (m *Machine) acknowledge(o *Out, s bth.Syndrome, psn bth.PSN, why transport.Cause) {
	m.noPayload()
	p := m.header(bth.RCAcknowledge, psn)
	p.AETH = bth.AETH{Syndrome: s, MSN: m.msn}
	m.emit(o, 0, transport.ClassAck, why)
}
