package rc

import (
	"encoding/binary"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// complete takes a response: an acknowledgement, READ data or an atomic's result.
// Responses to what was completed or never sent have no effect (9.7.5.1.1, ghosts).
func (m *Machine) complete(now clock.Time, p *bth.Packet) transport.Verdict {
	// One that repeats the newest may bring new credits (9.7.7.2).
	if p.Opcode.Is(bth.HasAETH) && !p.PSN.Before(m.unacked.Sub(1)) && p.PSN.Before(m.sentTo) {
		m.grant(p.AETH)
	}
	switch {
	case m.unacked == m.sentTo:
		return ignored(transport.RuleNothingAsked, p.PSN)
	case p.PSN.Before(m.unacked):
		return ignored(transport.RuleOldResponse, m.unacked)
	case !p.PSN.Before(m.sentTo):
		return ignored(transport.RuleGhost, m.sentTo)
	}
	switch p.Opcode {
	case bth.RCAcknowledge:
		return m.acknowledged(now, p)
	case bth.RCAtomicAck:
		return m.atomicResult(now, p)
	default:
		return m.readData(now, p)
	}
}

func ignored(r transport.Rule, psn bth.PSN) transport.Verdict {
	return transport.Verdict{Action: transport.Ignored, Rule: r, PSN: psn}
}

// acknowledged takes an Acknowledge packet by its syndrome (9.7.5.2).
func (m *Machine) acknowledged(now clock.Time, p *bth.Packet) transport.Verdict {
	s := p.AETH.Syndrome
	done := p.PSN // a NAK acknowledges what lies before it
	switch {
	case s.IsACK():
		done = p.PSN.Add(1)
	case !s.IsRNR() && s != bth.NAKSequence:
		return m.refused(now, p)
	}
	switch answered := m.settle(now, done); {
	case s.IsRNR(): // waited out also behind a lost answer, which is asked for again after it
		return m.wait(now, p)
	case !answered && s.IsACK():
		return m.impliedNAK(now, transport.RuleImpliedNAK)
	case !answered:
		return m.retry(now, transport.CauseImpliedNAK, transport.RuleImpliedNAK, (*Machine).lost)
	case s.IsACK():
		m.mendOn(now)
		return transport.Verdict{Action: transport.Advanced, Rule: transport.RuleAck, PSN: p.PSN}
	}
	return m.retry(now, transport.CauseNAK, transport.RuleNAKSequence, (*Machine).recover)
}

// impliedNAK asks again for READs and atomics because one is unanswered (9.7.5.1.2).
func (m *Machine) impliedNAK(now clock.Time, rule transport.Rule) transport.Verdict {
	if m.phase.rereads() {
		return ignored(transport.RuleNAKAgain, m.unacked)
	}
	return m.retry(now, transport.CauseImpliedNAK, rule, (*Machine).askAgain)
}

// refused takes a fatal NAK: what lies before it is done, the request it names has
// failed. If a READ or atomic before it lacks its answer, which will not come any more,
// that is the oldest request and fails in its place. A reserved syndrome fails as a bad
// response.
func (m *Machine) refused(now clock.Time, p *bth.Packet) transport.Verdict {
	status, rule := remoteError(p.AETH.Syndrome)
	if status == cq.StatusBadResponse {
		return m.badResponse(p)
	}
	m.settle(now, p.PSN)
	v := transport.Verdict{Action: transport.Failed, Rule: rule, PSN: p.PSN}
	m.fail(status, v)
	return v
}

// remoteError translates a fatal NAK (9.9.2.4.2).
func remoteError(s bth.Syndrome) (cq.Status, transport.Rule) {
	switch s {
	case bth.NAKInvalidRequest:
		return cq.StatusRemoteInvalid, transport.RuleRemoteInvalid
	case bth.NAKRemoteAccess:
		return cq.StatusRemoteAccess, transport.RuleRemoteAccess
	case bth.NAKRemoteOperation:
		return cq.StatusRemoteOperation, transport.RuleRemoteOp
	default:
		return cq.StatusBadResponse, transport.RuleBadResponse
	}
}

// badResponse fails the oldest request: its answer makes no sense (9.9.2.3).
func (m *Machine) badResponse(p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Failed, Rule: transport.RuleBadResponse, PSN: p.PSN}
	m.fail(cq.StatusBadResponse, v)
	return v
}

// settle takes everything before psn as acknowledged and completes it, in order.
// It stops at a READ or atomic, which only its own answer completes, and returns
// false if that lies wholly or partly before psn: its answer was lost. What lies
// behind is completed when that has come; the peer does not say it twice.
func (m *Machine) settle(now clock.Time, psn bth.PSN) bool {
	from := m.unacked
	answered := true
	for m.started(m.sq.Head()) {
		w := m.sq.At(m.sq.Head())
		if !w.First.Before(psn) {
			break
		}
		if w.Op.Reads() {
			answered = false
			m.executed = laterOf(m.executed, psn)
			break
		}
		if !w.Last.Before(psn) {
			m.unacked = laterOf(m.unacked, psn)
			break
		}
		m.finish(w)
	}
	if m.unacked != from {
		m.progressed(now, int(m.unacked.Diff(from)))
	}
	return answered
}

func laterOf(a, b bth.PSN) bth.PSN {
	if b.After(a) {
		return b
	}
	return a
}

// finish completes the oldest WQE with success, and the local operations behind it
// that were carried out already: none of those is ever the oldest.
func (m *Machine) finish(w *qp.SendWQE) {
	m.succeed(w)
	for m.started(m.sq.Head()) && m.sq.At(m.sq.Head()).Op.Local() {
		m.succeed(m.sq.At(m.sq.Head()))
	}
	m.drained()
}

// succeed completes the oldest WQE with success.
func (m *Machine) succeed(w *qp.SendWQE) {
	m.unacked = w.Last.Add(1)
	m.end(w)
	if w.Op.Reads() {
		m.reads--
	}
	if w.Flags&qp.Signaled != 0 {
		m.wc = cq.WC{ID: w.ID, Opcode: completionOpcode[w.Op], ByteLen: w.Len, QPN: m.cfg.QPN, SrcQP: m.attr.DestQPN}
		m.sink.SendDone(&m.wc)
	}
	if m.cursor == m.sq.Head() {
		m.cursor++
	}
	m.sq.Pop()
}

var completionOpcode = [...]cq.Opcode{
	qp.OpSend: cq.OpSend, qp.OpSendImm: cq.OpSend, qp.OpWrite: cq.OpRDMAWrite, qp.OpWriteImm: cq.OpRDMAWrite,
	qp.OpRead: cq.OpRDMARead, qp.OpCompareSwap: cq.OpCompareSwap, qp.OpFetchAdd: cq.OpFetchAdd,
	qp.OpSendInv: cq.OpSend, qp.OpBindMW: cq.OpBindMW, qp.OpLocalInv: cq.OpLocalInv,
}

// owner returns the WQE that a READ or atomic answer belongs to, after completing
// what the answer implies: the oldest one, or nil if an older READ or atomic is
// still unanswered.
func (m *Machine) owner(now clock.Time, psn bth.PSN) *qp.SendWQE {
	m.settle(now, psn)
	w := m.sq.At(m.sq.Head())
	if psn.After(w.Last) {
		return nil
	}
	return w
}

// readData takes one packet of READ data (9.7.5.1.4, 9.9.2).
func (m *Machine) readData(now clock.Time, p *bth.Packet) transport.Verdict {
	w := m.owner(now, p.PSN)
	if w == nil {
		return m.impliedNAK(now, transport.RuleImpliedNAK)
	}
	if w.Op != qp.OpRead {
		return m.badResponse(p)
	}
	if p.PSN != m.unacked {
		return m.impliedNAK(now, transport.RuleReadGap)
	}
	off := uint32(p.PSN.Diff(w.First)) * uint32(m.attr.PathMTU)
	if !m.fits(w, p, w.Len-off) {
		return m.badResponse(p)
	}
	if !m.scatter(w.SGL, off, p) {
		return m.noMemory(p)
	}
	v := transport.Verdict{Action: transport.Advanced, Rule: transport.RuleReadData, PSN: p.PSN}
	if p.PSN == w.Last {
		v.Rule = transport.RuleReadDone
		m.answered(now, w)
		return v
	}
	m.unacked = p.PSN.Add(1)
	m.progressed(now, 1)
	return v
}

// answered completes a READ or atomic, and what the peer has said to have executed
// behind it. If it was what was sent again last, no other answer may come.
func (m *Machine) answered(now clock.Time, w *qp.SendWQE) {
	m.finish(w)
	m.progressed(now, 1)
	if m.executed.After(m.unacked) {
		m.settle(now, m.executed)
	}
	if m.phase == mended {
		m.mendOn(now)
	}
}

// fits reports whether a READ response has the right form and length for its
// place, with left bytes still missing. Data asked for again in the middle may
// begin anew with First or go on with Middle and Last: responders differ.
func (m *Machine) fits(w *qp.SendWQE, p *bth.Packet, left uint32) bool {
	if p.Opcode.Is(bth.HasAETH) && !p.AETH.Syndrome.IsACK() {
		return false
	}
	n, mtu := uint32(p.PayloadLen()), uint32(m.attr.PathMTU)
	start := p.PSN == w.First || p.PSN == m.readFrom
	inside := p.PSN != w.First
	if p.PSN == w.Last {
		form := p.Opcode == bth.RCReadRespOnly && start || p.Opcode == bth.RCReadRespLast && inside
		return form && n == left
	}
	form := p.Opcode == bth.RCReadRespFirst && start || p.Opcode == bth.RCReadRespMiddle && inside
	return form && n == mtu
}

// atomicResult takes the answer of a CmpSwap or FetchAdd: the original value goes
// to the local buffer in the host's byte order.
func (m *Machine) atomicResult(now clock.Time, p *bth.Packet) transport.Verdict {
	w := m.owner(now, p.PSN)
	if w == nil {
		return m.impliedNAK(now, transport.RuleImpliedNAK)
	}
	if !w.Op.Atomic() || !p.AETH.Syndrome.IsACK() || p.PayloadLen() != 0 {
		return m.badResponse(p)
	}
	binary.NativeEndian.PutUint64(m.result[:], p.AtomicAck)
	if !m.place(w.SGL, 0, m.result[:], true) {
		return m.noMemory(p)
	}
	m.answered(now, w)
	return transport.Verdict{Action: transport.Advanced, Rule: transport.RuleAtomicDone, PSN: p.PSN}
}

// noMemory fails the oldest request: the region for its answer is gone.
func (m *Machine) noMemory(p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Failed, Rule: transport.RuleResponseMemory, PSN: p.PSN}
	m.fail(cq.StatusLocalProtection, v)
	return v
}
