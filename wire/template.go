package wire

import "encoding/binary"

// Template is the Ethernet, IP and UDP headers of a path, prepared so that a packet
// costs one copy and a few stores. Links that write frames keep one in Path.Link.
// It is read-only after [Path.Template] and safe for concurrent use.
type Template struct {
	bytes [MaxHeadersLen]byte
	len   int
	ip    int    // where the IP header starts
	sum   uint64 // IPv4: sum of the header with length and identification 0
}

// Template prepares the headers of packets on the path.
func (p *Path) Template() *Template {
	h := p.Headers(0)
	t := &Template{ip: len(h.appendEthernet(nil))}
	t.len = len(h.AppendFrame(t.bytes[:0], 0))
	if p.Src.Is4() {
		header := t.bytes[t.ip : t.ip+IPv4Len]
		clear(header[2:4])
		clear(header[10:12])
		t.sum = onesSum(0, header)
	}
	return t
}

// Len is the number of bytes that Put writes.
func (t *Template) Len() int { return t.len }

// IPOffset is where in them the IP header starts: after Ethernet and VLAN.
func (t *Template) IPOffset() int { return t.ip }

// SourcePort is the UDP source port.
func (t *Template) SourcePort() uint16 { return binary.BigEndian.Uint16(t.bytes[t.len-UDPLen:]) }

// Put writes the headers of a packet with a UDP payload of n bytes to b, which must
// have room for Len bytes. id is the IPv4 identification; IPv6 ignores it. The UDP
// checksum is 0.
func (t *Template) Put(b []byte, id uint16, n int) {
	b = b[:t.len]
	copy(b, t.bytes[:])
	binary.BigEndian.PutUint16(b[t.len-4:], uint16(UDPLen+n))
	ip := b[t.ip:]
	if ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(UDPLen+n))
		return
	}
	total := uint16(IPv4Len + UDPLen + n)
	binary.BigEndian.PutUint16(ip[2:], total)
	binary.BigEndian.PutUint16(ip[4:], id)
	binary.BigEndian.PutUint16(ip[10:], ^fold(t.sum+uint64(total)+uint64(id)))
}
