package bth

import "fmt"

// Opcode is the first byte of the BTH: transport service in bits 7:5, operation
// in bits 4:0 (IBTA vol. 1, table 38).
type Opcode uint8

// Transport is the transport service part of an opcode, already shifted into place.
type Transport uint8

// Transport services.
const (
	TransportRC  Transport = 0x00
	TransportUC  Transport = 0x20
	TransportRD  Transport = 0x40
	TransportUD  Transport = 0x60
	TransportCNP Transport = 0x80
	TransportXRC Transport = 0xa0
)

// String names the service.
func (t Transport) String() string {
	switch t {
	case TransportRC:
		return "RC"
	case TransportUC:
		return "UC"
	case TransportRD:
		return "RD"
	case TransportUD:
		return "UD"
	case TransportCNP:
		return "CNP"
	case TransportXRC:
		return "XRC"
	}
	return fmt.Sprintf("transport 0x%02x", uint8(t))
}

// Opcodes of the reliable connection service and the ones that stand alone.
// Other services use the same operation numbers: see [Opcode.Op].
const (
	RCSendFirst      Opcode = 0x00
	RCSendMiddle     Opcode = 0x01
	RCSendLast       Opcode = 0x02
	RCSendLastImm    Opcode = 0x03
	RCSendOnly       Opcode = 0x04
	RCSendOnlyImm    Opcode = 0x05
	RCWriteFirst     Opcode = 0x06
	RCWriteMiddle    Opcode = 0x07
	RCWriteLast      Opcode = 0x08
	RCWriteLastImm   Opcode = 0x09
	RCWriteOnly      Opcode = 0x0a
	RCWriteOnlyImm   Opcode = 0x0b
	RCReadRequest    Opcode = 0x0c
	RCReadRespFirst  Opcode = 0x0d
	RCReadRespMiddle Opcode = 0x0e
	RCReadRespLast   Opcode = 0x0f
	RCReadRespOnly   Opcode = 0x10
	RCAcknowledge    Opcode = 0x11
	RCAtomicAck      Opcode = 0x12
	RCCompareSwap    Opcode = 0x13
	RCFetchAdd       Opcode = 0x14
	RCSendLastInv    Opcode = 0x16
	RCSendOnlyInv    Opcode = 0x17
	RCFlush          Opcode = 0x1c
	RCAtomicWrite    Opcode = 0x1d
	UDSendOnly       Opcode = 0x64
	UDSendOnlyImm    Opcode = 0x65
	CNP              Opcode = 0x81
)

const (
	opResync Opcode = 0x15 // of the reliable datagram service alone

	operationMask = 0x1f
	transportMask = 0xe0
)

// Flags are the properties of an opcode. Code asks these, never lists of opcodes.
type Flags uint32

// Properties. First, Middle and Last say where in its message a packet stands;
// an Only packet is First and Last.
const (
	First Flags = 1 << iota
	Middle
	Last
	Request      // travels from requester to responder
	Response     // travels from responder to requester
	Send         // part of a SEND
	Write        // part of an RDMA WRITE
	Read         // RDMA READ request or response
	Atomic       // CmpSwap, FetchAdd or their answer
	Ack          // Acknowledge
	HasRDETH     // headers in wire order from here …
	HasDETH      //
	HasXRCETH    //
	HasFETH      //
	HasRETH      //
	HasAtomicETH //
	HasAETH      //
	HasAtomicAck //
	HasImm       //
	HasIETH      // … to here
	HasCNP       // sixteen reserved bytes
	Payload      // may carry payload
	ConsumesRecv // takes a receive WQE (at its Last packet for a WRITE with immediate)
)

const headerFlags = HasRDETH | HasDETH | HasXRCETH | HasFETH | HasRETH | HasAtomicETH | HasAETH |
	HasAtomicAck | HasImm | HasIETH | HasCNP

// Sizes of the headers in bytes.
const (
	BTHLen       = 12
	RDETHLen     = 4
	DETHLen      = 8
	XRCETHLen    = 4
	RETHLen      = 16
	AtomicETHLen = 28
	AETHLen      = 4
	AtomicAckLen = 8
	ImmLen       = 4
	IETHLen      = 4
	FETHLen      = 4
	// CNPReservedLen is what follows the BTH of a CNP (IBTA annex A17).
	CNPReservedLen = 16
	// MaxHeaderLen is the longest legal header chain: BTH, RDETH, DETH, AtomicETH.
	MaxHeaderLen = BTHLen + RDETHLen + DETHLen + AtomicETHLen
)

type info struct {
	name  string
	flags Flags
	len   uint8 // BTH and extension headers, bytes; 0: undefined opcode
}

// operations are the rows of the reliable services; the other services derive from
// them.
var operations = [32]info{
	0x00: {name: "SEND First", flags: Send | First | Request | Payload},
	0x01: {name: "SEND Middle", flags: Send | Middle | Request | Payload},
	0x02: {name: "SEND Last", flags: Send | Last | Request | Payload},
	0x03: {name: "SEND Last with Immediate", flags: Send | Last | Request | Payload | HasImm},
	0x04: {name: "SEND Only", flags: Send | First | Last | Request | Payload},
	0x05: {name: "SEND Only with Immediate", flags: Send | First | Last | Request | Payload | HasImm},
	0x06: {name: "RDMA WRITE First", flags: Write | First | Request | Payload | HasRETH},
	0x07: {name: "RDMA WRITE Middle", flags: Write | Middle | Request | Payload},
	0x08: {name: "RDMA WRITE Last", flags: Write | Last | Request | Payload},
	0x09: {name: "RDMA WRITE Last with Immediate", flags: Write | Last | Request | Payload | HasImm | ConsumesRecv},
	0x0a: {name: "RDMA WRITE Only", flags: Write | First | Last | Request | Payload | HasRETH},
	0x0b: {name: "RDMA WRITE Only with Immediate", flags: Write | First | Last | Request | Payload | HasRETH | HasImm | ConsumesRecv},
	0x0c: {name: "RDMA READ Request", flags: Read | First | Last | Request | HasRETH},
	0x0d: {name: "RDMA READ Response First", flags: Read | First | Response | Payload | HasAETH},
	0x0e: {name: "RDMA READ Response Middle", flags: Read | Middle | Response | Payload},
	0x0f: {name: "RDMA READ Response Last", flags: Read | Last | Response | Payload | HasAETH},
	0x10: {name: "RDMA READ Response Only", flags: Read | First | Last | Response | Payload | HasAETH},
	0x11: {name: "Acknowledge", flags: Ack | First | Last | Response | HasAETH},
	0x12: {name: "ATOMIC Acknowledge", flags: Atomic | First | Last | Response | HasAETH | HasAtomicAck},
	0x13: {name: "CmpSwap", flags: Atomic | First | Last | Request | HasAtomicETH},
	0x14: {name: "FetchAdd", flags: Atomic | First | Last | Request | HasAtomicETH},
	0x15: {name: "RESYNC", flags: First | Last | Request},
	0x16: {name: "SEND Last with Invalidate", flags: Send | Last | Request | Payload | HasIETH},
	0x17: {name: "SEND Only with Invalidate", flags: Send | First | Last | Request | Payload | HasIETH},
	0x1c: {name: "FLUSH", flags: First | Last | Request | HasFETH | HasRETH},
	0x1d: {name: "ATOMIC WRITE", flags: First | Last | Request | Payload | HasRETH},
}

var opcodes = buildOpcodes()

func buildOpcodes() (t [256]info) {
	for op, row := range operations {
		if row.name == "" {
			continue
		}
		for _, tr := range []Transport{TransportRC, TransportUC, TransportRD, TransportUD, TransportXRC} {
			if f, ok := serviceFlags(tr, Opcode(op), row.flags); ok {
				t[int(tr)|op] = info{tr.String() + " " + row.name, f, headerLen(f)}
			}
		}
	}
	t[CNP] = info{"CNP", HasCNP, headerLen(HasCNP)}
	return t
}

// serviceFlags adapts an operation's row to a service: which of them exist there
// and which headers the service adds.
func serviceFlags(tr Transport, op Opcode, f Flags) (Flags, bool) {
	if f&Send != 0 && f&First != 0 {
		f |= ConsumesRecv
	}
	invalidate := f&HasIETH != 0
	switch tr {
	case TransportRC:
		return f, op != opResync
	case TransportUC:
		return f, f&(Send|Write) != 0 && !invalidate
	case TransportUD:
		return f | HasDETH, f&Send != 0 && f&First != 0 && f&Last != 0 && !invalidate
	case TransportRD:
		f |= HasRDETH
		if f&Request != 0 {
			f |= HasDETH
		}
		return f, !invalidate
	case TransportXRC:
		if f&Request != 0 {
			f |= HasXRCETH
		}
		return f, op != opResync
	default:
		return 0, false
	}
}

func headerLen(f Flags) uint8 {
	n := BTHLen
	for _, h := range []struct {
		has Flags
		len int
	}{
		{HasRDETH, RDETHLen}, {HasDETH, DETHLen}, {HasXRCETH, XRCETHLen}, {HasFETH, FETHLen},
		{HasRETH, RETHLen}, {HasAtomicETH, AtomicETHLen}, {HasAETH, AETHLen}, {HasAtomicAck, AtomicAckLen},
		{HasImm, ImmLen}, {HasIETH, IETHLen}, {HasCNP, CNPReservedLen},
	} {
		if f&h.has != 0 {
			n += h.len
		}
	}
	return uint8(n)
}

// Known reports whether the opcode is defined by the specification.
func (o Opcode) Known() bool { return opcodes[o].len != 0 }

// Flags returns the opcode's properties; 0 for an undefined one.
func (o Opcode) Flags() Flags { return opcodes[o].flags }

// Is reports whether the opcode has any of the properties in f.
func (o Opcode) Is(f Flags) bool { return opcodes[o].flags&f != 0 }

// Paced reports whether congestion control paces packets of this opcode: requests, and the
// responses to READs and atomics. If a switch marks one, its sender is told by a CNP. Nobody
// slows down for an acknowledgement, and a CNP for a CNP would never end.
func (o Opcode) Paced() bool { return o.Known() && o != CNP && !o.Is(Ack) }

// HeaderLen is the length in bytes of BTH and extension headers; 0 for an
// undefined opcode.
func (o Opcode) HeaderLen() int { return int(opcodes[o].len) }

// Transport returns the service bits.
func (o Opcode) Transport() Transport { return Transport(o & transportMask) }

// Op returns the operation with the service bits cleared, that is, the RC opcode
// of the same operation.
func (o Opcode) Op() Opcode { return o & operationMask }

// String gives the specification's name, such as "RC SEND Only".
func (o Opcode) String() string {
	if o.Known() {
		return opcodes[o].name
	}
	return fmt.Sprintf("%s reserved opcode 0x%02x", o.Transport(), uint8(o))
}
