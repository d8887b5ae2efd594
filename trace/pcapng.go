package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
)

// Pcapng is a sink that writes a pcapng capture: one interface per device, raw IP
// packets, time stamps in nanoseconds, each packet with its direction and a
// comment that says what the stack did with it and why. Packets that the device
// dropped are in it with the reason; packets that the recorder had no room for are
// counted where they are missing and at the end.
//
// IP and UDP headers are rebuilt from the event, so that the ICRC of the file's
// packets is the one of the wire: all fields that it covers are true, if the IPv4
// identification was known. Hop limit, flow label and the six DSCP bits of
// received packets, which it does not cover, are not known. The UDP checksum is 0.
type Pcapng struct {
	w       *bufio.Writer
	epoch   time.Time
	headers bool // payload is cut off
	block   block
	last    uint64 // latest time stamp: that of the closing statistics
}

// PcapngOption shapes a capture: [HeadersOnly].
type PcapngOption func(*Pcapng)

// HeadersOnly cuts packets behind their transport headers. The file tells their true
// length; their ICRC, which comes behind the payload, is not in it. Packets without
// payload, such as requests to READ, acknowledgements and CNPs, are kept whole.
func HeadersOnly(p *Pcapng) { p.headers = true }

// NewPcapng returns a sink that writes a capture to w. The epoch is the wall-clock
// time of clock.Time 0, such as time.Now().Add(-time.Duration(clock.Now())); the
// zero Time dates packets from 1970-01-01 on, the same in every run.
func NewPcapng(w io.Writer, epoch time.Time, options ...PcapngOption) *Pcapng {
	p := &Pcapng{w: bufio.NewWriter(w), epoch: orUnixEpoch(epoch)}
	for _, set := range options {
		set(p)
	}
	b := p.block.begin(blockSection).u32(byteOrderMagic).u16(1).u16(0).u64(math.MaxUint64)
	// A bufio.Writer keeps its first error and returns it later, too.
	_ = p.emit(b.text(optUserApplication, "rocinante").endOptions())
	return p
}

// orUnixEpoch replaces the zero Time, whose nanoseconds do not fit a time stamp.
func orUnixEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0)
	}
	return t
}

// Device implements [Sink].
func (p *Pcapng) Device(name string) error {
	const noLimit = 0
	b := p.block.begin(blockInterface).u16(linkTypeRaw).u16(0).u32(noLimit)
	return p.emit(b.text(optInterfaceName, name).option8(optResolution, nanoseconds).endOptions())
}

// Packet implements [Sink].
func (p *Pcapng) Packet(r *Record) error {
	t := p.stamp(r.Time)
	p.last = max(p.last, t)

	frame, headers, n := r.Bytes(), r.headers(), r.headersLen()
	datagram := min(len(frame), maxDatagram)
	kept := datagram
	if p.headers {
		kept = min(kept, r.upToPayload())
	}
	b := p.block.begin(blockPacket).u32(uint32(r.Device)).time(t)
	b = b.u32(uint32(n + kept)).u32(uint32(n + len(frame)))
	b = headers.AppendIP(b, datagram)
	b = append(b, frame[:kept]...)
	b = b.pad()

	b = b.text(optComment, comment(r)).option32(optFlags, flags(r.Dir))
	if r.Lost != 0 {
		b = b.option64(optDropCount, r.Lost)
	}
	return p.emit(b.endOptions())
}

// upToPayload is how much of the frame is not payload, from its beginning on: all, if it
// has none. A frame that is no whole packet has its header where the longest would end.
func (r *Record) upToPayload() int {
	switch {
	case r.Err != nil:
		return bth.MaxHeaderLen
	case r.Packet.PayloadLen() == 0:
		return len(r.Bytes())
	}
	return r.Packet.Opcode.HeaderLen()
}

// comment is the sentence that goes with a packet.
func comment(r *Record) string {
	words := r.Why()
	if r.Lost != 0 {
		words += fmt.Sprintf("; %s just before this one", missing(r.Lost))
	}
	return words
}

// missing says that the recorder lost packets.
func missing(n uint64) string {
	if n == 1 {
		return "1 packet is missing: the recorder's buffer was full"
	}
	return fmt.Sprintf("%d packets are missing: the recorder's buffer was full", n)
}

func flags(d Direction) uint32 {
	if d == Out {
		return flagOutbound
	}
	return flagInbound
}

// Flush implements [Sink].
func (p *Pcapng) Flush() error { return p.writeError(p.w.Flush()) }

// Close implements [Sink]: it writes the statistics of every interface.
func (p *Pcapng) Close(s Stats) error {
	for i, d := range s.Devices {
		b := p.block.begin(blockStatistics).u32(uint32(i)).time(p.last)
		if d.Lost != 0 {
			b = b.text(optComment, missing(d.Lost))
		}
		b = b.option64(optReceived, d.Recorded+d.Lost).option64(optDropped, d.Lost).endOptions()
		if err := p.emit(b); err != nil {
			return err
		}
	}
	return p.Flush()
}

// stamp is a time stamp in nanoseconds since 1970. Times before that are 1970.
func (p *Pcapng) stamp(t clock.Time) uint64 {
	return uint64(max(0, p.epoch.Add(time.Duration(t)).UnixNano()))
}

// emit closes a block, writes it, and keeps its memory for the next one.
func (p *Pcapng) emit(b block) error {
	p.block = b.end()
	_, err := p.w.Write(p.block)
	return p.writeError(err)
}

func (p *Pcapng) writeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("trace: writing the capture failed, it ends early: %w", err)
}
