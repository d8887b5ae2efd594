package decode

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// ICRC is what can be said of a captured packet's invariant CRC.
type ICRC uint8

// ICRC states. A packet whose ICRC nobody could compute is not called good.
const (
	ICRCGood ICRC = iota + 1
	ICRCBad
	ICRCNotCaptured // the capture does not hold the whole packet
	ICRCTooShort    // the datagram is too short to have one
)

// String says it in words.
func (i ICRC) String() string {
	switch i {
	case ICRCGood:
		return "good"
	case ICRCBad:
		return "bad"
	case ICRCNotCaptured:
		return "not computable: the capture does not hold the whole packet"
	case ICRCTooShort:
		return "not computable: too short to have one"
	}
	return "not computed"
}

// checkICRC computes the ICRC over the whole datagram, as IBTA annex A17 says.
func (p *Packet) checkICRC(missing int) ICRC {
	switch {
	case missing > 0:
		return ICRCNotCaptured
	case len(p.Frame) < bth.BTHLen+wire.ICRCLen:
		return ICRCTooShort
	case wire.VerifyICRC(p.Src, p.Dst, p.SrcPort, p.Flags, p.ID, [2][]byte{p.Frame}):
		return ICRCGood
	}
	return ICRCBad
}
