package decode

import (
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/wire"
)

var (
	alice = netip.MustParseAddr("10.0.0.1")
	bob   = netip.MustParseAddr("10.0.0.2")
	dawn  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// tape is a capture under construction: each packet 10 µs after the one before.
type tape struct {
	records []Record
	id      uint16
}

// send appends a packet with a right ICRC and the next IPv4 identification.
func (t *tape) send(src, dst netip.Addr, p bth.Packet, payload int) *Record {
	t.id++
	h := wire.Headers{Src: src, Dst: dst, SrcPort: 50000, DstPort: wire.Port, HopLimit: 64}
	if src.Is4() {
		h.ID, h.Flags = 1000+t.id, wire.DontFragment
	}
	return t.add(seal(h, p, make([]byte, payload)))
}

// add appends an Ethernet frame.
func (t *tape) add(frame []byte) *Record {
	n := len(t.records)
	t.records = append(t.records, Record{
		Number: n + 1, Time: dawn.Add(time.Duration(n) * 10 * time.Microsecond),
		Link: LinkEthernet, Data: frame, Length: len(frame),
	})
	return &t.records[n]
}

// seal builds an Ethernet frame around a packet.
func seal(h wire.Headers, p bth.Packet, payload []byte) []byte {
	p.Pad = bth.PadFor(len(payload))
	head := make([]byte, bth.MaxHeaderLen)
	head = head[:p.PutHeaders(head)]
	tail := make([]byte, int(p.Pad)+wire.ICRCLen)
	flow := wire.MakeFlow(h.Src, h.Dst, h.SrcPort, h.Flags)
	flow.Seal(h.ID, head, [][]byte{payload}, tail)
	b := h.AppendFrame(nil, len(head)+len(payload)+len(tail))
	return append(append(append(b, head...), payload...), tail...)
}

// sendMAD appends a CM datagram.
func (t *tape) sendMAD(src, dst netip.Addr, m mad.Message) {
	t.id++
	b := make([]byte, mad.Size)
	mad.Put(b, mad.NewHeader(m.Attribute(), 0x1122334455667788), m)
	h := wire.Headers{Src: src, Dst: dst, SrcPort: 55410, DstPort: wire.Port, HopLimit: 64, ID: t.id, Flags: wire.DontFragment}
	p := bth.Packet{Opcode: bth.UDSendOnly, PKey: bth.DefaultPKey, DestQP: mad.QPN, DETH: bth.DETH{QKey: mad.QKey, SrcQP: mad.QPN}}
	t.add(seal(h, p, b))
}

// annotate decodes and annotates the tape's packets.
func (t *tape) annotate() []*Packet {
	packets, _ := t.annotateAll()
	return packets
}

// annotateAll returns the annotator, too, which has seen all of them.
func (t *tape) annotateAll() (packets []*Packet, a *Annotator) {
	pairs := NewPairs()
	for i := range t.records {
		if p := Decode(&t.records[i]); p != nil {
			packets = append(packets, p)
			pairs.Learn(p)
		}
	}
	a = NewAnnotator(pairs)
	for _, p := range packets {
		a.Annotate(p)
	}
	return packets, a
}

// mapped is an IPv4 address as a GID.
func mapped(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) }

// caller6 is the private data of a caller from IPv6.
func caller6() mad.Data {
	b := make(mad.Data, 92)
	mad.Address{
		IPVersion: 6, SrcPort: 4000,
		Src: netip.MustParseAddr("fd00::1"), Dst: netip.MustParseAddr("fd00::2"),
	}.Put(b)
	copy(b[mad.AddressLen:], "hello")
	return b
}

func netip6(s string) netip.Addr { return netip.MustParseAddr(s) }
