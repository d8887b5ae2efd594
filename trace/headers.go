package trace

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

// maxDatagram is the most UDP payload that the length fields of both IP versions
// can tell.
const maxDatagram = 0xffff - wire.IPv4Len - wire.UDPLen

// headers rebuilds the IP and UDP headers that the event's frame travelled in.
// Addresses of different families, which no network delivers, are written as IPv6.
func (e *Event) headers() wire.Headers {
	h := wire.Headers{
		Src: e.Src, Dst: e.Dst, SrcPort: e.SrcPort, DstPort: wire.Port,
		TrafficClass: e.TrafficClass, HopLimit: wire.DefaultHopLimit,
		ID: e.ID, Flags: e.Flags,
	}
	if !e.isIPv4() {
		h.Src = netip.AddrFrom16(e.Src.As16())
	}
	return h
}

func (e *Event) headersLen() int {
	if e.isIPv4() {
		return wire.IPv4Len + wire.UDPLen
	}
	return wire.IPv6Len + wire.UDPLen
}

func (e *Event) isIPv4() bool { return e.Src.Is4() && e.Dst.Is4() }
