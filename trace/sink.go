package trace

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Sink is where a [Recorder] writes to: [Pcapng], [JSONLines], [Ladder]. Its
// methods are called by one goroutine at a time. After its first error a sink is
// not called again.
type Sink interface {
	// Device announces the next device; the first one has number 0.
	Device(name string) error
	// Packet takes one packet. The record is lent for the call.
	Packet(r *Record) error
	// Flush hands on what is buffered.
	Flush() error
	// Close ends the output with what the recorder counted. It does not close the
	// writer underneath.
	Close(s Stats) error
}

// Record is one recorded packet on its way to the sinks.
type Record struct {
	Event         // Frame is a single piece
	Device int    // number of the device, counted from 0
	Name   string // name of the device
	Lost   uint64 // packets of this device, just before this one, that the recorder had no room for

	Packet bth.Packet // the parsed frame
	Err    error      // why the frame is not a whole packet; Packet then holds what could be read
}

// Bytes is the UDP payload, BTH … ICRC.
func (r *Record) Bytes() []byte { return r.Frame[0] }

// Label says in one line what the packet is, as the function [Label] does, and its ECN
// field if the packet takes part in congestion control: " ECT(0)", or " CE" if marked.
func (r *Record) Label() string {
	words := r.words()
	if ecn := r.ECN(); ecn != wire.NotECT {
		words += " " + ecn.String()
	}
	return words
}

func (r *Record) words() string {
	if r.Err != nil {
		return labelBroken(&r.Packet, r.Err, len(r.Bytes()))
	}
	return Label(&r.Packet)
}

// parse reads the frame into Packet and Err.
func (r *Record) parse() {
	frame := r.Bytes()
	r.Packet = bth.Packet{}
	r.Err = r.Packet.Parse(frame[:max(0, len(frame)-wire.ICRCLen)], nil)
}

// Stats is what a recorder counted, device by device.
type Stats struct {
	Devices []DeviceStats
}

// DeviceStats counts the packets of one device.
type DeviceStats struct {
	Name     string
	Recorded uint64 // packets that went to the sinks, or are about to
	Lost     uint64 // packets that the recorder had no room for, or that came after Close
}

// Lost is the number of packets of all devices that were not recorded.
func (s Stats) Lost() (n uint64) {
	for _, d := range s.Devices {
		n += d.Lost
	}
	return n
}
