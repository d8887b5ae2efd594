package engine

import (
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// ICRC says where a shard does without the invariant CRC, for peers that cannot compute
// one. The zero ICRC checks every packet received, and seals every packet sent.
type ICRC struct {
	AcceptAny bool // take packets whatever theirs is
	SendZero  bool // send 0
}

// checkICRC verifies the invariant CRC, as strongly as what the link saw allows.
func (s *Shard) checkICRC(p [2][]byte, meta *link.Meta, index int) wire.ICRC {
	switch {
	case s.icrc.AcceptAny:
		return wire.ICRCUnchecked
	case meta.IDKnown || !meta.Src.Is4():
		return s.verifier.Verify(meta.Src, meta.Dst, meta.SrcPort, meta.Flags, meta.ID+uint16(index), p)
	}
	icrc := s.verifier.Infer(meta.Src, meta.Dst, meta.SrcPort, index, p)
	if icrc == wire.ICRCInferred {
		s.counters.ICRCInferred++
	}
	return icrc
}

// seal ends the packet in the slot: its pad, and the invariant CRC.
func (s *Shard) seal(path *wire.Path, slot *link.Slot) {
	if s.icrc.SendZero {
		clear(slot.Tail)
		return
	}
	path.Seal(slot.ID, slot.Head, slot.Body[:slot.NBody], slot.Tail)
}

// sentICRC is what is known of it in the packets that are sent.
func (s *Shard) sentICRC() wire.ICRC {
	if s.icrc.SendZero {
		return wire.ICRCBad
	}
	return wire.ICRCGood
}
