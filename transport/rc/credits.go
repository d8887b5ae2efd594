package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// End-to-end credits (9.7.7.2): a responder may say in every AETH for how many
// messages it has receives posted. Together with the MSN that is the number of the
// last message that it can take; messages are numbered from 1 as they are begun.

// credits is what the requester knows of the peer's receives. A queue pair made for
// credits begins with none; others begin without a limit, for most peers never count.
type credits struct {
	limited bool    // the peer counts: limit holds
	limit   bth.PSN // the newest message that there is a receive for, modulo 2^24 as MSNs are
	begun   bth.PSN // the newest message begun
	done    bth.PSN // the newest message completed
}

// grant takes the credits of an AETH. A peer that counts none is not limited
// (9.7.7.2). What was granted is not taken back: an older AETH says less. An MSN
// that the peer cannot have, of messages never begun or long completed, is a ghost's.
func (c *credits) grant(a bth.AETH) {
	n, counted := a.Syndrome.Credits()
	msn := bth.PSN(a.MSN)
	switch {
	case !a.Syndrome.IsACK() || msn.After(c.begun) || msn.Before(c.done):
		return
	case !counted:
		c.limited = false
		return
	}
	limit := msn.Add(uint32(n))
	if !c.limited {
		c.limited, c.limit = true, limit
	} else if limit.After(c.limit) {
		c.limit = limit
	}
}

// begin numbers a message. One that needs no receive uses up none of those that the
// peer has, but it does move the MSN.
func (c *credits) begin(w *qp.SendWQE) {
	c.begun = c.begun.Add(1)
	w.MSN = c.begun
	if !w.Op.ConsumesRecv() {
		c.limit = c.limit.Add(1)
	}
}

// end tells that the peer has completed a message: its receive was there. So the one
// after it is never more than one beyond the limit, and nothing waits for ever.
func (c *credits) end(w *qp.SendWQE) {
	c.done = w.MSN
	if c.done.After(c.limit) {
		c.limit = c.done
	}
}

// outOfCredits holds a message back that the peer has no receive for. The first one
// beyond may send one packet, which asks for an acknowledgement and so for new
// credits, or an RNR NAK; the rest follows when that is acknowledged (9.7.7.2).
func (m *Machine) outOfCredits(w *qp.SendWQE) bool {
	switch {
	case !m.beyondCredits(w):
		return false
	case !m.started(m.cursor):
		return m.begun.Add(1).After(m.limit.Add(1))
	case m.next == w.First:
		return w.MSN.After(m.limit.Add(1))
	}
	return !m.unacked.After(w.First)
}

// beyondCredits reports whether the peer is not known to have a receive for the
// message at the cursor.
func (m *Machine) beyondCredits(w *qp.SendWQE) bool {
	if !m.limited || !w.Op.ConsumesRecv() {
		return false
	}
	if !m.started(m.cursor) {
		return m.begun.Add(1).After(m.limit)
	}
	return w.MSN.After(m.limit)
}

// ack is the syndrome of positive acknowledgements: how many receives are posted, if
// the queue pair was made to tell. Those of a shared queue are nobody's in
// particular, and not counted (9.7.7.2).
func (m *Machine) ack() bth.Syndrome {
	if !m.counts() {
		return bth.ACKUnlimited
	}
	return bth.ACKCredits(m.count())
}

// counts reports whether acknowledgements tell of credits.
func (m *Machine) counts() bool { return m.cfg.Credits && m.shared == nil }
