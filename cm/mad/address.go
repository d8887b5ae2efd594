package mad

import (
	"encoding/binary"
	"net/netip"
)

// AddressLen is the length of an [Address] in bytes.
const AddressLen = 36

// Address is the header that the IP port spaces put before the user's private data
// in REQ and SIDR_REQ (IBTA vol. 1, annex A11): who calls, and whom.
type Address struct {
	Version   uint8      `json:"version"`    // 4 bits major, 4 bits minor: 0
	IPVersion uint8      `json:"ip_version"` // 4 or 6
	SrcPort   uint16     `json:"src_port"`
	Src       netip.Addr `json:"src"`
	Dst       netip.Addr `json:"dst"`
}

// ParseAddress reads the header and returns the user's private data behind it. ok
// is false when private data does not begin with such a header.
func ParseAddress(private []byte) (a Address, user []byte, ok bool) {
	if len(private) < AddressLen {
		return a, nil, false
	}
	a.Version, a.IPVersion = private[0], private[1]>>4
	a.SrcPort = binary.BigEndian.Uint16(private[2:])
	switch a.IPVersion {
	case 4:
		a.Src = netip.AddrFrom4([4]byte(private[16:]))
		a.Dst = netip.AddrFrom4([4]byte(private[32:]))
	case 6:
		a.Src = netip.AddrFrom16([16]byte(private[4:]))
		a.Dst = netip.AddrFrom16([16]byte(private[20:]))
	default:
		return a, nil, false
	}
	return a, private[AddressLen:], a.Version == 0
}

// Put writes the header into the first 36 bytes of b.
func (a Address) Put(b []byte) {
	b = b[:AddressLen]
	clear(b)
	b[0], b[1] = a.Version, a.IPVersion<<4
	binary.BigEndian.PutUint16(b[2:], a.SrcPort)
	putIP(b[4:20], a.Src)
	putIP(b[20:36], a.Dst)
}

// putIP writes an address into 16 bytes, IPv4 in the last four and not mapped.
func putIP(b []byte, a netip.Addr) {
	if a.Is4() {
		ip := a.As4()
		copy(b[12:], ip[:])
		return
	}
	putAddr(b, a)
}
