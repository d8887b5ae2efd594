package wire

import "net/netip"

// ICRC is what is known of a packet's invariant CRC.
type ICRC uint8

// Results of a check.
const (
	// ICRCUnchecked: nothing is known.
	ICRCUnchecked ICRC = iota
	// ICRCBad: the packet is damaged, or its headers are not what the caller said.
	ICRCBad
	// ICRCGood: right for an identification that was known or expected.
	ICRCGood
	// ICRCInferred: right for some identification. That is 16 bits strong.
	ICRCInferred
)

// String says it in one word.
func (i ICRC) String() string {
	switch i {
	case ICRCBad:
		return "bad"
	case ICRCGood:
		return "good"
	case ICRCInferred:
		return "inferred"
	default:
		return "unchecked"
	}
}

// Verifier checks the ICRC of the packets of one receive queue. It keeps a little
// state per peer, in a fixed table without lock or map: the flow last seen, so that
// its pseudo header is not computed again, and the last IPv4 identification, so
// that the next one is expected. Peers that share a slot cost each other time and
// certainty (ICRCInferred for ICRCGood), never a right packet.
//
// The zero Verifier is ready. It is not safe for concurrent use and never allocates.
type Verifier struct {
	peers [verifierPeers]peer
}

const (
	verifierPeers = 64
	// Kernels number all packets to one peer with one counter, so a queue may see
	// gaps (other queues, other protocols) and small reordering.
	idAhead  = 256
	idBehind = 32
)

type peer struct {
	src, dst       netip.Addr
	srcPort, flags uint16
	flow           Flow
	id             uint16 // identification of the last packet, if seen
	seen           bool
}

// expects reports whether an identification is no surprise. 0 never is: kernels
// send it with DF from sockets that are not connected.
func (p *peer) expects(id uint16) bool {
	ahead := int16(id - p.id)
	return id == 0 || p.seen && -idBehind <= ahead && ahead <= idAhead
}

// Verify checks a packet whose IPv4 identification and flags are known; IPv6
// ignores both. packet is as in [Flow.Verify].
func (v *Verifier) Verify(src, dst netip.Addr, srcPort, flags, id uint16, packet [2][]byte) ICRC {
	if v.peer(src, dst, srcPort, flags).flow.Verify(id, packet) {
		return ICRCGood
	}
	return ICRCBad
}

// Infer checks a packet whose IPv4 identification is hidden; its flags are taken
// to be [DontFragment]. index is its place in the super-frame it came in, which is
// its identification if the sender used one UDP_SEGMENT call for it. IPv6 has no
// identification: the result is then never ICRCInferred.
func (v *Verifier) Infer(src, dst netip.Addr, srcPort uint16, index int, packet [2][]byte) ICRC {
	p := v.peer(src, dst, srcPort, DontFragment)
	hint := uint16(index)
	id, ok := p.flow.SolveID(hint, packet)
	switch {
	case !ok:
		return ICRCBad
	case id == hint || p.flow.family == ipv6:
		return ICRCGood
	}
	expected := p.expects(id)
	p.id, p.seen = id, true
	if expected {
		return ICRCGood
	}
	return ICRCInferred
}

// peer returns the peer's slot, set to the flow.
func (v *Verifier) peer(src, dst netip.Addr, srcPort, flags uint16) *peer {
	a := src.As16()
	p := &v.peers[(a[13]^a[14]^a[15])%verifierPeers]
	if p.src == src && p.dst == dst && p.srcPort == srcPort && p.flags == flags {
		return p
	}
	if p.src != src || p.dst != dst {
		p.seen = false
	}
	p.src, p.dst, p.srcPort, p.flags = src, dst, srcPort, flags
	p.flow = MakeFlow(src, dst, srcPort, flags)
	return p
}
