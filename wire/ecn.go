package wire

// ECN is the congestion field: the two low bits of the IPv4 TOS and of the IPv6
// traffic class (RFC 3168, 5).
type ECN uint8

// Code points.
const (
	NotECT ECN = 0 // the transport does not react to marks
	ECT1   ECN = 1
	ECT0   ECN = 2 // what RoCEv2 senders with congestion control use
	CE     ECN = 3 // congestion experienced, set by a switch
)

const ecnMask = 3

// ECNOf extracts the field from a TOS or traffic class byte.
func ECNOf(trafficClass uint8) ECN { return ECN(trafficClass & ecnMask) }

// With returns a TOS or traffic class byte with this ECN field and the same DSCP.
func (e ECN) With(trafficClass uint8) uint8 { return trafficClass&^ecnMask | uint8(e)&ecnMask }

// Capable reports whether a switch marks such a packet instead of dropping it.
func (e ECN) Capable() bool { return e != NotECT }

// String names the code point as RFC 3168 does.
func (e ECN) String() string { return [4]string{"Not-ECT", "ECT(1)", "ECT(0)", "CE"}[e&ecnMask] }
