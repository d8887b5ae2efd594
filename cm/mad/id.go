package mad

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// CommID names one side's half of a connection. It is opaque to the peer.
type CommID uint32

// String prints eight hexadecimal digits.
func (id CommID) String() string { return fmt.Sprintf("%08x", uint32(id)) }

// MarshalText implements encoding.TextMarshaler.
func (id CommID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// parsePair reads what most messages begin with: the sender's ID and the receiver's.
func parsePair(b []byte) (local, remote CommID) {
	return CommID(binary.BigEndian.Uint32(b)), CommID(binary.BigEndian.Uint32(b[4:]))
}

func putPair(b []byte, local, remote CommID) {
	binary.BigEndian.PutUint32(b, uint32(local))
	binary.BigEndian.PutUint32(b[4:], uint32(remote))
}

// TransactionID pairs a MAD with its answer.
type TransactionID uint64

// String prints sixteen hexadecimal digits.
func (id TransactionID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// MarshalText implements encoding.TextMarshaler.
func (id TransactionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// GUID names a channel adapter.
type GUID uint64

// String prints sixteen hexadecimal digits.
func (g GUID) String() string { return fmt.Sprintf("%016x", uint64(g)) }

// MarshalText implements encoding.TextMarshaler.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// ServiceID names what a REQ connects to: for IP port spaces a prefix, a protocol
// and a port (IBTA vol. 1, annex A11).
type ServiceID uint64

// Port spaces of rdma_cm, as the upper 48 bits of a service ID.
const (
	SpaceIPoIB ServiceID = 0x00020000
	SpaceTCP   ServiceID = 0x01060000
	SpaceUDP   ServiceID = 0x01110000
	SpaceIB    ServiceID = 0x013f0000
)

var spaceNames = map[ServiceID]string{
	SpaceIPoIB: "IPoIB", SpaceTCP: "TCP", SpaceUDP: "UDP", SpaceIB: "IB",
}

// Port is the port in an IP port space.
func (s ServiceID) Port() uint16 { return uint16(s) }

// String names port space and port, such as "TCP port 4420".
func (s ServiceID) String() string {
	if name, ok := spaceNames[s&^0xffff]; ok {
		return fmt.Sprintf("%s port %d", name, s.Port())
	}
	return fmt.Sprintf("service %016x", uint64(s))
}

// MarshalText implements encoding.TextMarshaler: sixteen hexadecimal digits.
func (s ServiceID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(s)), nil }

// Data is a field of opaque bytes.
type Data []byte

// MarshalText implements encoding.TextMarshaler: hexadecimal digits.
func (d Data) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d), nil }
