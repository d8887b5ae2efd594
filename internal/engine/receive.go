package engine

import (
	"errors"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Bounds of receiving in one turn. They apply between frames.
const (
	rxPackets = 256
	rxBytes   = 256 << 10
	rxBatch   = 32 // frames per call of the link
)

// receive takes frames from the link, up to the bounds of a turn.
func (s *Shard) receive() (worked bool) {
	packets, bytes := s.counters.RxPackets, s.counters.RxBytes
	for s.counters.RxPackets-packets < rxPackets && s.counters.RxBytes-bytes < rxBytes {
		n := s.queue.Recv(s.rx[:])
		if n == 0 {
			break
		}
		received()
		// Read after the link was: nothing is received before it was sent, however
		// long this goroutine was kept from running in between.
		s.now = s.queue.Now()
		for i := range s.rx[:n] {
			s.receiveFrame(&s.rx[i])
			s.rx[i].Frag = [2][]byte{}
		}
		s.queue.Release()
		worked = true
	}
	return worked
}

// receiveFrame cuts a super-frame into its packets.
func (s *Shard) receiveFrame(rx *link.Rx) {
	if rx.Seg <= 0 {
		s.receivePacket(rx.Frag, &rx.Meta, 0)
		return
	}
	total := len(rx.Frag[0]) + len(rx.Frag[1])
	for i, off := 0, 0; off < total; i, off = i+1, off+rx.Seg {
		s.receivePacket(cut(rx.Frag, off, min(off+rx.Seg, total)), &rx.Meta, i)
	}
}

// cut returns the bytes [from, to) of two pieces in a row.
func cut(f [2][]byte, from, to int) [2][]byte {
	n := len(f[0])
	switch {
	case to <= n:
		return [2][]byte{f[0][from:to]}
	case from >= n:
		return [2][]byte{f[1][from-n : to-n]}
	}
	return [2][]byte{f[0][from:], f[1][:to-n]}
}

// receivePacket brings one packet, BTH … ICRC, to its QP. index is its place in
// its frame.
func (s *Shard) receivePacket(p [2][]byte, meta *link.Meta, index int) {
	s.counters.RxPackets++
	s.counters.RxBytes += uint64(len(p[0]) + len(p[1]))
	q, icrc, rule := s.admit(p, meta, index)
	v := transport.Verdict{Action: transport.Dropped, Rule: rule}
	if rule == transport.RuleNone {
		v = s.deliver(q, meta)
	}
	s.counters.ByRule[v.Rule]++
	if s.tap != nil {
		s.tapReceived(p, meta, index, q, icrc, v)
	}
}

// deliver gives a packet to its QP.
func (s *Shard) deliver(q *QP, meta *link.Meta) transport.Verdict {
	if s.packet.Opcode == bth.CNP {
		return s.notified(q)
	}
	if wire.ECN(meta.ECN) == wire.CE {
		s.marked(q)
	}
	v := q.machine.Receive(s.now, &s.packet)
	s.touch(q)
	s.asked.push(&q.answering)
	return v
}

// admit makes the checks on a packet's way to its QP (IBTA vol. 1, 9.6) and parses
// it into s.packet. It returns RuleNone if the QP's machine shall have it.
func (s *Shard) admit(p [2][]byte, meta *link.Meta, index int) (*QP, wire.ICRC, transport.Rule) {
	n := len(p[0]) + len(p[1])
	switch {
	case n < bth.BTHLen+wire.ICRCLen:
		return nil, wire.ICRCUnchecked, transport.RuleShort
	case len(p[0]) < bth.BTHLen:
		return nil, wire.ICRCUnchecked, transport.RuleFragment
	}
	icrc := s.checkICRC(p, meta, index)
	if icrc == wire.ICRCBad {
		return nil, icrc, transport.RuleICRC
	}
	if wire.ECN(meta.ECN) == wire.CE {
		s.counters.Marked++
	}
	// The length was checked: neither can fail.
	body, _ := wire.StripICRC(p)
	_ = s.packet.ParseBTH(body[0])
	q, rule := s.route(meta)
	if rule == transport.RuleNone {
		rule = s.parse(body)
	}
	if rule != transport.RuleNone && s.packet.Opcode == bth.CNP {
		s.counters.CNPsDropped++
	}
	return q, icrc, rule
}

// route finds the QP that the parsed base header names, and checks that the packet
// may reach it.
func (s *Shard) route(meta *link.Meta) (*QP, transport.Rule) {
	h := &s.packet
	switch {
	case h.TVer != 0:
		return nil, transport.RuleVersion
	case h.DestQP <= managementQPN:
		return nil, transport.RuleManagementQP
	}
	q := s.find(h.DestQP)
	if q == nil {
		return nil, transport.RuleNoQP
	}
	return q, q.accepts(h, meta)
}

// accepts checks a packet against the QP's connection. Adapters send CNPs with the default
// partition key, whatever the connection's is.
func (q *QP) accepts(h *bth.Packet, meta *link.Meta) transport.Rule {
	back := q.paths[transport.ClassAck]
	switch {
	case h.Opcode != bth.CNP && h.Opcode.Transport() != bth.TransportRC:
		if h.Opcode.Known() {
			return transport.RuleServiceType
		}
		return transport.RuleOpcode
	case !q.machine.State().Receives():
		return transport.RuleState
	case !partitionsMatch(h.PKey, q.pkey) && !(h.Opcode == bth.CNP && h.PKey == bth.DefaultPKey):
		return transport.RulePKey
	case meta.Src != back.Dst || meta.Dst != back.Src:
		return transport.RuleAddress
	case (meta.VLAN^back.VLAN)&wire.VLANID != 0:
		return transport.RuleVLAN
	}
	return transport.RuleNone
}

// partitionsMatch compares partition keys: the partition is the low 15 bits, and
// two limited members of it do not talk (IBTA vol. 1, 10.9.3).
func partitionsMatch(a, b uint16) bool {
	const fullMember = 0x8000
	return (a^b)&^fullMember == 0 && (a|b)&fullMember != 0
}

// parse reads the rest of the packet. Undefined opcodes of the QP's service go to
// the machine with the base header alone: it answers them.
func (s *Shard) parse(body [2][]byte) transport.Rule {
	err := s.packet.ParseRest(body[0], body[1])
	switch {
	case err == nil, errors.Is(err, bth.ErrOpcode):
		return transport.RuleNone
	case len(body[0])+len(body[1]) >= s.packet.Opcode.HeaderLen()+int(s.packet.Pad):
		return transport.RuleFragment // enough bytes, but the headers straddle
	}
	return transport.RuleShort
}
