package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// responder is the receiving half's state.
type responder struct {
	expected bth.PSN // the next request in order
	msn      uint32  // messages completed, modulo 2^24

	message   message // the kind of message that is under way
	recvInUse bool    // it uses the oldest receive WQE

	established bool   // the peer's first request came
	received    uint32 // bytes of a SEND so far

	// A WRITE under way: where the next packet's data goes, and how much is left.
	write bth.RETH
	total uint32 // bytes of the whole WRITE

	// target is the memory that the request in hand may write, as checkMemory found
	// it. It is not looked up again: a region closed since would not be found, and
	// whoever closes one waits for the turn to end.
	target mr.Span

	acks
	replay
}

// message is the kind of message between its First and its Last packet.
type message uint8

const (
	noMessage message = iota
	sendMessage
	writeMessage
)

func (r *responder) idle() { *r = responder{} }

// start enters RTR: the peer's first request has this PSN, and as many READs and
// atomics as limit may be unanswered at once.
func (r *responder) start(psn bth.PSN, limit int) {
	r.idle()
	r.expected = psn
	r.newest = psn.Sub(1)
	r.replay.start(limit)
}

// respond takes a request through the checks of IBTA vol. 1, 9.7.4 and 9.9.3, in
// their order, and executes it. The first check that fails decides.
func (m *Machine) respond(p *bth.Packet) transport.Verdict {
	if v, stop := m.checkPSN(p); stop {
		return v
	}
	v := m.judge(p)
	if m.reorder.first != nil && v.Action == transport.Executed {
		v = m.resume(v)
	}
	m.target = mr.Span{} // no reference to the user's memory outlives the packet
	return v
}

// judge takes the expected request through the checks, and executes or refuses it.
func (m *Machine) judge(p *bth.Packet) transport.Verdict {
	for _, check := range requestChecks {
		if rule := check(m, p); rule != transport.RuleNone {
			return m.refuse(p.PSN, rule)
		}
	}
	return m.execute(p)
}

// requestChecks are the steps between the PSN and the execution. Each names the
// rule that is broken, or none.
var requestChecks = [...]func(*Machine, *bth.Packet) transport.Rule{
	(*Machine).checkSequence,
	(*Machine).checkPermission,
	(*Machine).checkResources,
	(*Machine).checkLength,
	(*Machine).checkMemory,
}

// checkPSN separates the expected request from duplicates and from those behind a
// gap (9.7.4.1.2).
func (m *Machine) checkPSN(p *bth.Packet) (transport.Verdict, bool) {
	d := p.PSN.Diff(m.expected)
	switch {
	case d == 0:
		return transport.Verdict{}, false
	case d < 0:
		return m.duplicate(p), true
	}
	return m.early(p), true
}

// checkSequence holds the opcode against the message under way (9.7.4.1.3).
func (m *Machine) checkSequence(p *bth.Packet) transport.Rule {
	f := p.Opcode.Flags()
	switch {
	case f == 0:
		return transport.RuleReserved
	case f&(bth.Send|bth.Write|bth.Read|bth.Atomic) == 0:
		return transport.RuleUnsupported
	}
	want := noMessage
	if f&bth.First == 0 {
		want = sendMessage
		if f&bth.Write != 0 {
			want = writeMessage
		}
	}
	if m.message != want {
		return transport.RuleSequence
	}
	return transport.RuleNone
}

// checkPermission holds the operation against the QP's access flags (9.7.4.1.4).
func (m *Machine) checkPermission(p *bth.Packet) transport.Rule {
	if need := accessOf(p.Opcode); m.attr.Access&need != need {
		return transport.RuleNotPermitted
	}
	return transport.RuleNone
}

// accessOf is the right that a request needs, of the QP and of the region.
func accessOf(op bth.Opcode) mr.Access {
	switch {
	case op.Is(bth.Write):
		return mr.RemoteWrite
	case op.Is(bth.Read):
		return mr.RemoteRead
	case op.Is(bth.Atomic):
		return mr.RemoteAtomic
	}
	return 0
}

// checkResources looks for a receive WQE, or room for an answer (9.7.4.1.5). A key
// cannot be invalidated before the READs that came first are answered by it: requests
// are executed in order (9.5).
func (m *Machine) checkResources(p *bth.Packet) transport.Rule {
	if p.Opcode.Is(bth.ConsumesRecv) && m.count() == 0 {
		return transport.RuleNotReady
	}
	if p.Opcode.Is(bth.Read|bth.Atomic) && !m.replay.room() {
		return transport.RuleTooManyReads
	}
	if p.Opcode.Is(bth.HasIETH) && m.replay.needs(p.IETH) {
		return transport.RuleKeyInUse
	}
	return transport.RuleNone
}

// checkLength holds payload and pad against opcode, path MTU and message (9.7.4.1.6).
func (m *Machine) checkLength(p *bth.Packet) transport.Rule {
	n, mtu := uint32(p.PayloadLen()), uint32(m.attr.PathMTU)
	f := p.Opcode.Flags()
	switch {
	case p.Pad != bth.PadFor(int(n)),
		f&bth.Payload == 0 && n != 0,
		f&bth.Last == 0 && n != mtu,
		f&bth.First == 0 && n == 0,
		n > mtu:
		return transport.RuleLength
	case f&bth.Write != 0:
		return m.checkWriteLength(p, n, f)
	case f&bth.Send != 0:
		return m.checkSendLength(n, f)
	case f&bth.Read != 0 && p.RETH.Len > qp.MaxMessage:
		return transport.RuleDMALength
	}
	return transport.RuleNone
}

// checkWriteLength holds a WRITE's data against the length in its RETH.
func (m *Machine) checkWriteLength(p *bth.Packet, n uint32, f bth.Flags) transport.Rule {
	left := m.write.Len
	if f&bth.First != 0 {
		left = p.RETH.Len
	}
	ends := f&bth.Last != 0
	if left > qp.MaxMessage || ends && n != left || !ends && n >= left {
		return transport.RuleDMALength
	}
	return transport.RuleNone
}

// checkSendLength holds a SEND's data against the receive WQE it goes to.
func (m *Machine) checkSendLength(n uint32, f bth.Flags) transport.Rule {
	sofar := m.received
	if f&bth.First != 0 {
		sofar = 0
	}
	if uint64(sofar)+uint64(n) > uint64(m.recvWQE().Len) {
		return transport.RuleTooLong
	}
	return transport.RuleNone
}

// checkMemory resolves the R_Key (9.7.4.1.7). A WRITE's whole range is checked at
// its first packet, so that nothing is written when its end is out of bounds; what
// later packets need is checked again, for the region may have gone meanwhile.
func (m *Machine) checkMemory(p *bth.Packet) transport.Rule {
	f := p.Opcode.Flags()
	need := accessOf(p.Opcode)
	switch {
	case f&bth.HasRETH != 0:
		return m.checkRange(p.RETH.RKey, p.RETH.VA, p.RETH.Len, need)
	case f&bth.Write != 0:
		return m.checkRange(m.write.RKey, m.write.VA, uint32(p.PayloadLen()), need)
	case f&bth.Atomic != 0:
		if r := m.checkRange(p.Atomic.RKey, p.Atomic.VA, mr.AtomicSize, need); r != transport.RuleNone {
			return r
		}
		if p.Atomic.VA%mr.AtomicSize != 0 {
			return transport.RuleMisaligned
		}
	}
	return transport.RuleNone
}

// checkRange resolves [va, va+n) as the target.
func (m *Machine) checkRange(key uint32, va uint64, n uint32, need mr.Access) transport.Rule {
	var fault mr.Fault
	m.target, fault = m.mem.ResolveRemote(m.cfg.PD, m.cfg.QPN, mr.Key(key), va, n, need)
	return faultRules[fault]
}

var faultRules = [...]transport.Rule{
	mr.NoFault: transport.RuleNone, mr.FaultKey: transport.RuleKey, mr.FaultPD: transport.RulePD, mr.FaultQP: transport.RuleWindowQP,
	mr.FaultAccess: transport.RuleAccess, mr.FaultRange: transport.RuleRange,
}

// refuse answers the request at psn, which broke a rule. Neither a missing receive WQE
// nor a key in use is a fault of the peer's: it may try again later (9.7.5.2.8).
func (m *Machine) refuse(psn bth.PSN, rule transport.Rule) transport.Verdict {
	v := transport.Verdict{Action: transport.Refused, Rule: rule, PSN: psn}
	nak := pendingNAK{bth.NAKInvalidRequest, psn, transport.CauseNAKFatal}
	status := cq.StatusRemoteInvalid
	switch rule {
	case transport.RuleNotReady:
		m.nak = pendingNAK{bth.RNRNAK(m.attr.MinRNRTimer), psn, transport.CauseNAKNotReady}
		m.gapReported = true // what follows is behind this packet; the RNR NAK says it all
		m.stats.RNRNAKs++
		return v
	case transport.RuleKeyInUse:
		m.nak = pendingNAK{bth.NAKSequence, psn, transport.CauseNAKInUse} // goes behind the answers
		m.gapReported = true
		return v
	case transport.RuleTooLong:
		status = cq.StatusLocalLength
		m.recvInUse = true // so that it completes with the error
	case transport.RuleLocalMemory:
		nak.syndrome, status = bth.NAKRemoteOperation, cq.StatusLocalProtection
	case transport.RuleKey, transport.RulePD, transport.RuleWindowQP, transport.RuleAccess, transport.RuleRange:
		nak.syndrome, status = bth.NAKRemoteAccess, cq.StatusRemoteAccess
	case transport.RuleInvalidate:
		// No NAK is required (9.9.3, class J), but without one the peer would believe
		// that all is well until its next request is not answered.
		nak.syndrome = bth.NAKRemoteAccess
	default: // the request is invalid
	}
	return m.refuseRequest(nak, status, v)
}
