package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/transport"
)

// execute carries out a request that passed all checks.
func (m *Machine) execute(p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Executed, Rule: transport.RuleInOrder, PSN: p.PSN}
	f := p.Opcode.Flags()
	m.arrived()
	switch {
	case f&bth.Send != 0:
		if rule := m.executeSend(p, f); rule != transport.RuleNone {
			return m.refuse(p.PSN, rule)
		}
	case f&bth.Write != 0:
		m.executeWrite(p, f)
	case f&bth.Read != 0:
		m.executeRead(p)
		return v
	default:
		m.executeAtomic(p)
		return v
	}
	m.expected = p.PSN.Add(1)
	m.newest = p.PSN
	if p.AckReq {
		m.owe(transport.CauseAck)
	}
	return v
}

// completeMessage counts a message that was carried out (9.7.7.1).
func (m *Machine) completeMessage() {
	m.msn = (m.msn + 1) & bth.PSNMask
	m.message, m.recvInUse = noMessage, false
}

// executeSend places data in the oldest receive WQE, and completes it with the
// message's last packet, after invalidating the R_Key that this may name. It returns
// the rule that is broken if the WQE's memory or that key are not valid.
func (m *Machine) executeSend(p *bth.Packet, f bth.Flags) transport.Rule {
	if f&bth.First != 0 {
		m.message, m.received, m.recvInUse = sendMessage, 0, true
	}
	if !m.scatter(m.recvWQE().SGL, m.received, p) {
		return transport.RuleLocalMemory
	}
	m.received += uint32(p.PayloadLen())
	if f&bth.HasIETH != 0 {
		if !m.mem.Invalidate(m.cfg.PD, m.cfg.QPN, mr.Key(p.IETH)) {
			return transport.RuleInvalidate
		}
		m.replay.forget(p.IETH)
	}
	if f&bth.Last != 0 {
		m.completeRecv(cq.OpRecv, m.received, p)
		m.stats.Sends++
		m.completeMessage()
	}
	return transport.RuleNone
}

// executeWrite places data in the memory that the peer chose. A WRITE with immediate
// completes a receive WQE, whose buffer stays untouched.
func (m *Machine) executeWrite(p *bth.Packet, f bth.Flags) {
	if f&bth.First != 0 {
		m.message, m.write, m.total = writeMessage, p.RETH, p.RETH.Len
	}
	dst := m.target
	for _, src := range p.Payload {
		mr.Place(dst, src, f&bth.Last != 0)
		dst.Bytes = dst.Bytes[len(src):]
	}
	n := uint32(p.PayloadLen())
	m.write.VA += uint64(n)
	m.write.Len -= n
	if f&bth.Last == 0 {
		return
	}
	if f&bth.HasImm != 0 {
		m.completeRecv(cq.OpRecvRDMAWithImm, m.total, p)
	}
	m.stats.Writes++
	m.completeMessage()
}

// completeRecv completes the oldest receive WQE with success.
func (m *Machine) completeRecv(op cq.Opcode, n uint32, p *bth.Packet) {
	m.wc = cq.WC{ID: m.recvWQE().ID, Opcode: op, ByteLen: n, QPN: m.cfg.QPN, SrcQP: m.attr.DestQPN}
	switch {
	case p.Opcode.Is(bth.HasImm):
		m.wc.Flags, m.wc.Imm = cq.WithImm, p.Imm
	case p.Opcode.Is(bth.HasIETH):
		m.wc.Flags, m.wc.InvalidatedKey = cq.WithInv, p.IETH
	}
	m.sink.RecvDone(&m.wc, p.Solicited)
	m.receives.done()
}

// executeRead takes a READ on: its data is read when it is sent. The MSN moves
// now, the expected PSN moves behind the answer's last packet (9.7.3.2, 9.7.7.1).
func (m *Machine) executeRead(p *bth.Packet) {
	n := packets(p.RETH.Len, m.attr.PathMTU)
	m.expected = p.PSN.Add(n)
	m.stats.Reads++
	m.completeMessage()
	m.replay.add(answer{first: p.PSN, last: p.PSN.Add(n - 1), reth: p.RETH})
	m.ackOwed = false // the answer says as much
}

// executeAtomic carries an atomic out, once, and keeps its result (9.4.5).
func (m *Machine) executeAtomic(p *bth.Packet) {
	a := &p.Atomic
	var was uint64
	if p.Opcode == bth.RCCompareSwap {
		was = mr.CompareSwap(m.target.Bytes, a.Compare, a.SwapAdd)
	} else {
		was = mr.FetchAdd(m.target.Bytes, a.SwapAdd)
	}
	m.expected = p.PSN.Add(1)
	m.stats.Atomics++
	m.completeMessage()
	m.replay.add(answer{atomic: true, first: p.PSN, last: p.PSN, result: was})
	m.ackOwed = false // the answer says as much
}
