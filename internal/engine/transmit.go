package engine

import (
	"github.com/rocinante-rdma/roce/transport"
)

// Bounds of transmitting.
const (
	// txPackets ends a turn's transmitting, so that receiving is not kept waiting.
	txPackets = 256
	// Quantum of a QP, before it is another's turn: what fits one super-frame.
	quantumBytes   = 64 << 10
	quantumPackets = 64
)

// bulk is what may fill the link's room but for one slot, and is paced; urgent takes that
// slot too. answers are what a peer asks for again if they are lost.
const (
	bulk    transport.ClassMask = 1<<transport.ClassRequest | 1<<transport.ClassReadResponse
	urgent  transport.ClassMask = 1 << transport.ClassAck
	answers transport.ClassMask = 1<<transport.ClassReadResponse | 1<<transport.ClassAck
)

// transmit sends the CNPs that are due, then what the ready QPs have. An acknowledgement
// may make way for a READ response of the same QP, which is then bulk again: hence the loop.
func (s *Shard) transmit() (worked bool) {
	s.deferred = 0
	if s.closed {
		return false // it has no link any more
	}
	s.releaseDue()
	if s.ready.head == nil && s.notifying.head == nil && s.pending == 0 {
		return false
	}
	before := s.counters.TxPackets
	s.starved = false
	s.transmitCNPs()
	for s.ready.head != nil && !s.starved && s.counters.TxPackets-before < txPackets {
		s.transmitBulk(before + txPackets)
		s.transmitUrgent()
	}
	if s.ready.head == nil {
		s.asked.clear() // each had its turn
	}
	s.flush()
	return s.counters.TxPackets != before
}

// transmitBulk goes round the ready QPs until they have no more, the link has no
// more room, or the counter of sent packets reaches limit.
func (s *Shard) transmitBulk(limit uint64) {
	for s.ready.head != nil && s.counters.TxPackets < limit {
		if !s.hasRoom(2) {
			s.starved = true
			return
		}
		q := s.ready.pop()
		if q.destroyed {
			continue
		}
		s.note(q) // sending starts timers, and failing to send fails work
		if s.sendQuantum(q) {
			s.ready.push(&q.sending)
		} else {
			s.acking.push(&q.sending)
		}
	}
}

// sendQuantum sends a QP's share of bulk and reports whether there may be more now.
func (s *Shard) sendQuantum(q *QP) (more bool) {
	bytes, d := 0, q.dcqcn
	for range quantumPackets {
		if !s.hasRoom(2) || bytes >= quantumBytes {
			return true
		}
		if d != nil && s.early(d) || !q.machine.Next(s.now, bulk, &s.out) {
			return false
		}
		n := s.send(q)
		if d != nil {
			d.controller.Sent(s.now, q.onWire(n))
		}
		bytes += s.out.Len
	}
	return true
}

// transmitUrgent sends the acknowledgements of the QPs that are through with bulk,
// and of those that wait for room.
func (s *Shard) transmitUrgent() {
	for s.acking.head != nil {
		q := s.acking.pop()
		if q.destroyed {
			continue
		}
		sent, more := s.sendUrgent(q)
		if sent || more {
			s.ready.push(&q.sending)
		}
	}
	if s.starved {
		s.answerAsked()
	}
}

// answerAsked sends acknowledgements past the bulk that waits for room. Of thousands of
// QPs that want to send, it looks only at those that received something since it last
// looked: they alone may owe any.
func (s *Shard) answerAsked() {
	for s.asked.head != nil {
		if q := s.asked.head.qp; !q.destroyed {
			if _, more := s.sendUrgent(q); more {
				return
			}
		}
		s.asked.pop()
	}
}

// sendUrgent sends what a QP has that must not wait. more says that the link had
// no room for the rest.
func (s *Shard) sendUrgent(q *QP) (sent, more bool) {
	for {
		if !s.hasRoom(1) {
			s.starved = true
			return sent, true
		}
		if !q.machine.Next(s.now, urgent, &s.out) {
			return sent, false
		}
		s.send(q)
		sent = true
	}
}

// hasRoom reports whether the link takes n more packets, after a Flush if need be.
// A link that is empty and holds fewer takes what it holds.
func (s *Shard) hasRoom(n int) bool {
	if s.room >= n {
		return true
	}
	if s.room = s.queue.Room(); s.room >= n {
		return true
	}
	s.flush()
	return s.room >= n || s.room > 0 && s.pending == 0
}

// flush sends what was reserved.
func (s *Shard) flush() {
	flushing()
	pending, err := s.queue.Flush()
	s.pending, s.room = pending, s.queue.Room()
	if err != nil {
		s.fatal(err)
	}
}

// fatal notes the first failure of the link and takes all queue pairs to ERR: what
// they wait for will not come.
func (s *Shard) fatal(err error) {
	if s.broken == nil {
		s.broken = err
	}
	s.demux.all(s.fail)
}

// send passes the packet in s.out to the link and seals it. It returns the packet's bytes,
// BTH to ICRC.
func (s *Shard) send(q *QP) (n int) {
	o, slot := &s.out, &s.slot
	path := q.paths[o.Class]
	s.queue.Reserve(path, int(o.HdrLen), o.Pay, int(o.Pad), o.MustCopy, slot)
	s.room--
	copy(slot.Head, o.Hdr[:o.HdrLen])
	s.seal(path, slot)
	n = len(slot.Head) + o.Len + len(slot.Tail)
	s.counters.TxPackets++
	s.counters.TxBytes += uint64(n)
	s.counters.ByCause[o.Why]++
	if answers.Has(o.Class) {
		s.lastAnswer = s.now
	}
	if s.tap != nil {
		s.tapSent(q, path)
	}
	return n
}
