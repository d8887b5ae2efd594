package decode

import (
	"encoding/binary"

	"github.com/rocinante-rdma/roce/wire"
)

// Lengths and fields of the Linux cooked headers: where the EtherType lies, and
// where the network header begins.
const (
	sllProtocol  = 14
	sllLen       = 16
	sll2Protocol = 0
	sll2Len      = 20
)

// frame finds the UDP datagram in a record. Of a record that the capture cut off,
// the lengths are those of the wire; missing tells how many bytes at the end of
// the payload are zeros in place of what was not captured.
func frame(rec *Record) (f wire.Frame, missing int, err error) {
	data := rec.Data
	if rec.Length > len(data) && rec.Length <= MaxRecord {
		missing = rec.Length - len(data)
		data = append(data[:len(data):len(data)], make([]byte, missing)...)
	}
	f, err = parseLink(rec.Link, data)
	if err != nil {
		return f, missing, err
	}
	return f, min(missing, len(f.Payload)), nil
}

func parseLink(link LinkType, b []byte) (wire.Frame, error) {
	switch link {
	case LinkEthernet:
		return wire.ParseFrame(b)
	case LinkRaw, LinkIPv4, LinkIPv6:
		return wire.ParseIP(b)
	case LinkSLL:
		return parseCooked(b, sllProtocol, sllLen)
	case LinkSLL2:
		return parseCooked(b, sll2Protocol, sll2Len)
	}
	return wire.Frame{}, wire.ErrNotIP
}

func parseCooked(b []byte, protocol, headLen int) (wire.Frame, error) {
	if len(b) < headLen {
		return wire.Frame{}, wire.ErrTruncated
	}
	switch binary.BigEndian.Uint16(b[protocol:]) {
	case etherTypeIPv4, etherTypeIPv6:
		return wire.ParseIP(b[headLen:])
	}
	return wire.Frame{}, wire.ErrNotIP
}

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
)
