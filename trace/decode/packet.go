package decode

import (
	"errors"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

// Packet is one RoCEv2 packet of a capture. Its slices alias the record.
type Packet struct {
	Number  int       // of its record
	Time    time.Time // as captured
	Point   int       // where it was captured
	Comment string    // what the capture file says about it

	wire.Headers
	Frame []byte // UDP payload, BTH … ICRC, as long as it was on the wire

	BTH  bth.Packet
	Err  error // why Frame is not a whole packet; BTH then holds what could be read
	ICRC ICRC
	CM   *CM // of packets to QP1

	SrcQP QPN // set by Annotator
	Notes []Note
}

// QPN is a queue pair number that may be unknown: connected packets carry only the
// destination's.
type QPN struct {
	N     uint32
	Known bool
}

// CM is a connection manager's datagram. Message is nil if the datagram is of
// another kind; Err says so.
type CM struct {
	mad.Header
	Message mad.Message
	Err     error
}

// ErrCut is the error of packets whose headers the capture does not hold.
var ErrCut = errors.New("the capture cut the packet inside its headers")

// Decode reads a record. It returns nil if the record holds no RoCEv2 packet: a
// UDP datagram to port 4791. Bytes that claim to be one and are not are returned
// with Err set.
func Decode(rec *Record) *Packet {
	f, missing, err := frame(rec)
	if err != nil || f.DstPort != wire.Port {
		return nil
	}
	p := &Packet{
		Number: rec.Number, Time: rec.Time, Point: rec.Point, Comment: rec.Comment,
		Headers: f.Headers, Frame: f.Payload,
	}
	p.Err = p.parse(missing)
	p.ICRC = p.checkICRC(missing)
	if p.Err == nil && p.BTH.DestQP == mad.QPN && p.BTH.Opcode.Is(bth.HasDETH) && missing == 0 {
		p.CM = parseCM(p.BTH.Payload[0])
	}
	return p
}

// parse reads the transport headers; missing bytes at the end were not captured.
func (p *Packet) parse(missing int) error {
	if missing > 0 && len(p.Frame)-missing < bth.BTHLen {
		return ErrCut
	}
	packet := p.Frame[:max(0, len(p.Frame)-wire.ICRCLen)]
	if err := p.BTH.Parse(packet, nil); err != nil {
		return err
	}
	if missing > 0 && len(p.Frame)-missing < p.BTH.Opcode.HeaderLen() {
		return ErrCut
	}
	return nil
}

func parseCM(b []byte) *CM {
	h, m, err := mad.Parse(b)
	return &CM{h, m, err}
}

// Label says in one line what the packet is.
func (p *Packet) Label() string {
	if p.CM != nil {
		return p.CM.label()
	}
	return p.record().Label()
}

// record is the packet in the form that package trace prints.
func (p *Packet) record() *trace.Record {
	e := trace.Event{Frame: [][]byte{p.Frame}, TrafficClass: p.TrafficClass}
	return &trace.Record{Event: e, Packet: p.BTH, Err: p.Err}
}

// hasBTH reports whether at least the base header could be read.
func (p *Packet) hasBTH() bool {
	return len(p.Frame) >= bth.BTHLen+wire.ICRCLen && !errors.Is(p.Err, ErrCut)
}
