package trace

import (
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Label says in one line what a packet is: operation, PSN, the extension headers
// and the payload's length. PSN and MSN are decimal, addresses and keys
// hexadecimal. Ladder, JSON lines and lists share it. RC, the usual transport
// service, is not named; the others are. Examples:
//
//	RDMA WRITE First PSN 100 va 0x1000 rkey 0x1234 len 4096 (1024 B)
//	ACK PSN 103 MSN 5
//	NAK PSN sequence error PSN 7 MSN 3
func Label(p *bth.Packet) string {
	f := p.Opcode.Flags()
	if f&bth.HasCNP != 0 {
		return fmt.Sprintf("CNP for QP 0x%x", p.DestQP)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s PSN %d", operation(p), p.PSN)
	labelRequest(&b, p, f)
	labelResponse(&b, p, f)
	if f&bth.Payload != 0 {
		fmt.Fprintf(&b, " (%d B)", p.PayloadLen())
	}
	return b.String()
}

// operation names what the packet is. An acknowledgement is what its syndrome says.
func operation(p *bth.Packet) string {
	if p.Opcode.Is(bth.Ack) {
		return service(p.Opcode) + p.AETH.Syndrome.String()
	}
	return opcodeName(p.Opcode)
}

// opcodeName is the opcode's name, without the service when that is RC.
func opcodeName(o bth.Opcode) string { return strings.TrimPrefix(o.String(), "RC ") }

// service is the prefix that names every transport service but RC.
func service(o bth.Opcode) string {
	if o.Transport() == bth.TransportRC {
		return ""
	}
	return o.Transport().String() + " "
}

// labelRequest adds what a requester's extension headers say.
func labelRequest(b *strings.Builder, p *bth.Packet, f bth.Flags) {
	if f&bth.HasDETH != 0 {
		fmt.Fprintf(b, " from QP 0x%x qkey 0x%x", p.DETH.SrcQP, p.DETH.QKey)
	}
	if f&bth.HasXRCETH != 0 {
		fmt.Fprintf(b, " srq 0x%x", p.XRCSRQ)
	}
	if f&bth.HasRETH != 0 {
		fmt.Fprintf(b, " va 0x%x rkey 0x%x len %d", p.RETH.VA, p.RETH.RKey, p.RETH.Len)
	}
	if f&bth.HasAtomicETH != 0 {
		fmt.Fprintf(b, " va 0x%x rkey 0x%x %s", p.Atomic.VA, p.Atomic.RKey, operands(p))
	}
	if f&bth.HasImm != 0 {
		fmt.Fprintf(b, " imm 0x%x", p.Imm)
	}
	if f&bth.HasIETH != 0 {
		fmt.Fprintf(b, " invalidates rkey 0x%x", p.IETH)
	}
}

// operands says what an atomic request does to the eight bytes.
func operands(p *bth.Packet) string {
	if p.Opcode.Op() == bth.RCFetchAdd {
		return fmt.Sprintf("add 0x%x", p.Atomic.SwapAdd)
	}
	return fmt.Sprintf("compare 0x%x swap 0x%x", p.Atomic.Compare, p.Atomic.SwapAdd)
}

// labelResponse adds what a responder's extension headers say. A READ or atomic
// answer carries a plain ACK; any other syndrome in it is worth a word.
func labelResponse(b *strings.Builder, p *bth.Packet, f bth.Flags) {
	if f&bth.HasAETH == 0 {
		return
	}
	fmt.Fprintf(b, " MSN %d", p.AETH.MSN)
	if f&bth.HasAtomicAck != 0 {
		fmt.Fprintf(b, " original 0x%x", p.AtomicAck)
	}
	switch {
	case f&bth.Ack != 0:
		fmt.Fprintf(b, " syndrome 0x%02x", uint8(p.AETH.Syndrome))
	case !p.AETH.Syndrome.IsACK():
		fmt.Fprintf(b, " with %s", p.AETH.Syndrome)
	}
}

// labelBroken says what can be said of a frame that is no whole packet.
func labelBroken(p *bth.Packet, err error, frameLen int) string {
	if frameLen < bth.BTHLen+wire.ICRCLen {
		return fmt.Sprintf("%d bytes, too few for a packet", frameLen)
	}
	what := strings.TrimPrefix(err.Error(), "bth: ")
	return fmt.Sprintf("%s PSN %d, %d bytes: %s", opcodeName(p.Opcode), p.PSN, frameLen, what)
}
