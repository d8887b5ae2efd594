package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/transport"
)

// replay holds the responder resources: the last READs and atomics with what it
// takes to answer them, and to answer them again (9.7.4.1.2, 9.4.5). There are as
// many as the peer may have outstanding, so a duplicate of an unanswered one is
// always found.
type replay struct {
	answers []answer
	slot    int // where the next one goes
	pending int // answers not sent in full
}

// answer is one READ or atomic.
type answer struct {
	used, pending, again bool
	sent                 bool // in full, once: what is pending since is a repetition
	atomic               bool
	first, last          bth.PSN
	reth                 bth.RETH // READ: as first asked for
	result               uint64   // atomic: the original value

	next bth.PSN  // the packet to send
	from bth.PSN  // where this run of the answer began …
	to   bth.PSN  // … where it ends …
	rest bth.RETH // … and what it covers
}

func (r *replay) start(limit int) {
	*r = replay{answers: make([]answer, limit)}
}

// resize changes how many there are; no more than limit are pending. If there are too
// many the oldest answered ones are forgotten.
func (r *replay) resize(limit int) {
	kept := make([]answer, 0, limit)
	surplus := r.used() - limit
	for i := range r.answers {
		a := r.answers[(r.slot+i)%len(r.answers)]
		switch {
		case !a.used:
		case !a.pending && surplus > 0:
			surplus--
		default:
			kept = append(kept, a)
		}
	}
	r.answers = kept[:limit]
	r.slot = len(kept) % max(limit, 1)
}

// used is how many resources hold an answer.
func (r *replay) used() (n int) {
	for i := range r.answers {
		if r.answers[i].used {
			n++
		}
	}
	return n
}

// room reports whether the peer may ask for one more: the oldest resource is free,
// or answered. One that is to be answered again is free too: a peer that asks for
// more has that answer, so the duplicate was an old one (9.7.4.1.5).
func (r *replay) room() bool {
	return len(r.answers) > 0 && (!r.answers[r.slot].pending || r.answers[r.slot].sent)
}

// add takes a new READ or atomic; room must have been true.
func (r *replay) add(a answer) {
	a.used, a.pending = true, true
	a.next, a.from, a.to, a.rest = a.first, a.first, a.last, a.reth
	if r.answers[r.slot].pending {
		r.pending--
	}
	r.answers[r.slot] = a
	r.slot = (r.slot + 1) % len(r.answers)
	r.pending++
}

// silence forgets that answers are owed.
func (r *replay) silence() {
	for i := range r.answers {
		r.answers[i].pending = false
	}
	r.pending = 0
}

// oldest returns the pending answer that goes first: the one asked for first.
func (r *replay) oldest() *answer {
	var old *answer
	for i := range r.answers {
		if a := &r.answers[i]; a.pending && (old == nil || a.first.Before(old.first)) {
			old = a
		}
	}
	return old
}

// find returns the newest resource that covers a PSN, or nil: an older one may have
// had the same PSN when the numbers last went round.
func (r *replay) find(psn bth.PSN, atomic bool) *answer {
	for i := range r.answers {
		a := &r.answers[(r.slot+len(r.answers)-1-i)%len(r.answers)]
		if a.used && a.atomic == atomic && !psn.Before(a.first) && !psn.After(a.last) {
			return a
		}
	}
	return nil
}

// reads reports whether this is READ data by a key: of an empty READ the key means
// nothing.
func (a *answer) reads(key uint32) bool {
	return a.used && !a.atomic && a.reth.Len > 0 && a.reth.RKey == key
}

// needs reports whether READ data that was never sent in full is read by this key.
func (r *replay) needs(key uint32) bool {
	for i := range r.answers {
		a := &r.answers[i]
		if a.reads(key) && a.pending && !a.sent {
			return true
		}
	}
	return false
}

// forget frees the answers of READs by a key that the peer has invalidated: it has
// them, or it would still need the key. Duplicates of its READs may be under way; to
// refuse those would end a good connection.
func (r *replay) forget(key uint32) {
	for i := range r.answers {
		a := &r.answers[i]
		if a.reads(key) && a.sent {
			if a.pending {
				r.done(a)
			}
			a.used = false
		}
	}
}

// done marks an answer as sent; it stays for duplicates.
func (r *replay) done(a *answer) {
	a.pending, a.sent = false, true
	r.pending--
}

// repeat makes an answer pending once more.
func (r *replay) repeat(a *answer) {
	if !a.pending {
		a.pending = true
		r.pending++
	}
	a.again = true
}

// duplicate answers a request that lies before the expected one (9.7.4.1.2): it is
// not executed again.
func (m *Machine) duplicate(p *bth.Packet) transport.Verdict {
	m.stats.Duplicates++
	switch {
	case p.Opcode.Is(bth.Send | bth.Write):
		m.owe(transport.CauseAckDuplicate)
		return transport.Verdict{Action: transport.Repeated, Rule: transport.RuleDuplicateSend, PSN: m.newest}
	case p.Opcode.Is(bth.Read):
		return m.duplicateRead(p)
	case p.Opcode.Is(bth.Atomic):
		return m.duplicateAtomic(p)
	}
	return transport.Verdict{Action: transport.Dropped, Rule: transport.RuleReserved, PSN: p.PSN}
}

// duplicateRead answers a READ again, from the packet asked for on. The peer may ask
// for a part of the original range only (9.7.4.1.2).
func (m *Machine) duplicateRead(p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Dropped, Rule: transport.RuleForgotten, PSN: p.PSN}
	a := m.replay.find(p.PSN, false)
	if a == nil {
		return v
	}
	if !a.covers(p, m.attr.PathMTU) {
		v.Rule = transport.RuleMismatch
		return v
	}
	v.Action, v.Rule = transport.Repeated, transport.RuleDuplicateRead
	if a.pending && !p.PSN.Before(a.next) {
		return v // that part is still to come
	}
	part, to := p.RETH, p.PSN.Add(packets(p.RETH.Len, m.attr.PathMTU)-1)
	if a.pending && a.to.After(to) { // what is under way ends behind it, and must not be cut short
		part.Len, to = uint32(a.rest.VA+uint64(a.rest.Len)-part.VA), a.to
	}
	m.replay.repeat(a)
	a.next, a.from, a.to, a.rest = p.PSN, p.PSN, to, part
	return v
}

// covers reports whether a READ asks for a part of the original one, at the PSN that the
// part's first packet had.
func (a *answer) covers(p *bth.Packet, mtu int) bool {
	skipped := uint32(p.PSN.Diff(a.first)) * uint32(mtu)
	left := a.reth.Len - skipped
	return p.RETH.VA == a.reth.VA+uint64(skipped) && p.RETH.RKey == a.reth.RKey &&
		p.RETH.Len <= left && (p.RETH.Len > 0 || left == 0)
}

// duplicateAtomic sends an atomic's saved result again.
func (m *Machine) duplicateAtomic(p *bth.Packet) transport.Verdict {
	a := m.replay.find(p.PSN, true)
	if a == nil {
		return transport.Verdict{Action: transport.Dropped, Rule: transport.RuleForgotten, PSN: p.PSN}
	}
	m.replay.repeat(a)
	return transport.Verdict{Action: transport.Repeated, Rule: transport.RuleDuplicateAtomic, PSN: p.PSN}
}

// answerRequest commits the next packet of the oldest pending answer.
func (m *Machine) answerRequest(allow transport.ClassMask, o *Out) bool {
	a := m.replay.oldest()
	why := transport.CauseAnswer
	if a.again {
		why = transport.CauseReplay
	}
	if a.atomic {
		m.answerAtomic(a, o, why)
		return true
	}
	return m.answerRead(a, allow, o, why)
}

func (m *Machine) answerAtomic(a *answer, o *Out, why transport.Cause) {
	m.noPayload()
	p := m.header(bth.RCAtomicAck, a.first)
	p.AETH = bth.AETH{Syndrome: m.ack(), MSN: m.msn}
	p.AtomicAck = a.result
	m.emit(o, 0, transport.ClassReadResponse, why)
	m.replay.done(a)
}

// answerRead makes one packet of READ data. The key is checked again: the region
// may have gone since the request (9.7.4.1.7). The data is the user's live memory,
// so the link has to copy it before the ICRC is computed.
func (m *Machine) answerRead(a *answer, allow transport.ClassMask, o *Out, why transport.Cause) bool {
	off := uint32(a.next.Diff(a.from)) * uint32(m.attr.PathMTU)
	n := min(a.rest.Len-off, uint32(m.attr.PathMTU))
	span, fault := m.mem.ResolveRemote(m.cfg.PD, m.cfg.QPN, mr.Key(a.rest.RKey), a.rest.VA+uint64(off), n, mr.RemoteRead)
	if fault != mr.NoFault {
		m.readGone(a, faultRules[fault])
		return m.answer(allow, o)
	}
	m.noPayload()
	if n > 0 {
		m.pay = append(m.pay, span.Bytes)
	}
	p := m.header(readOpcodes.at(a.next == a.from, a.next == a.to), a.next)
	p.AETH = bth.AETH{Syndrome: m.ack(), MSN: m.msn}
	m.emit(o, int(n), transport.ClassReadResponse, why)
	o.MustCopy = true
	if a.next == a.to {
		m.replay.done(a)
	}
	a.next = a.next.Add(1)
	return true
}

// readGone refuses the rest of a READ whose region is gone. One that was answered in full
// before is forgotten instead: the peer has its data, or nobody would have closed the
// region, and to refuse a late duplicate would end a good connection.
func (m *Machine) readGone(a *answer, rule transport.Rule) {
	if a.sent {
		m.replay.done(a)
		a.used = false
		return
	}
	m.replay.silence()
	m.recvInUse = false // a SEND under way is not at fault
	m.refuse(a.next, rule)
}

// readOpcodes are the opcodes of READ data.
var readOpcodes = opcodes{bth.RCReadRespFirst, bth.RCReadRespMiddle, bth.RCReadRespLast, bth.RCReadRespOnly}
