package congestionlab

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/wire"
)

// Operation is what moves the data.
type Operation uint8

// Operations.
const (
	// Write has the senders WRITE to the receiver: the requester is limited.
	Write Operation = iota
	// Read has the receiver READ from the senders: the responder is limited.
	Read
)

// String is the operation as scenarios name it.
func (o Operation) String() string {
	if o == Read {
		return "read"
	}
	return "write"
}

// Scenario says what happens: some senders, each with a link of the bottleneck's rate,
// send messages without end to one receiver, in front of which the packets wait. [Build]
// makes one.
type Scenario struct {
	Senders    int           // flows, each of a device of its own
	Starts     Starts        // when each of them begins
	Operation  Operation     // by which the data moves
	Message    int           // bytes
	Depth      int           // messages under way per flow
	MTU        int           // path MTU: payload bytes of a packet
	AckTimeout int           // a code: 4.096 µs × 2^AckTimeout
	Duration   time.Duration // of virtual time
	Sample     time.Duration // what is one point in the results

	Rate   float64       // bit/s, of the bottleneck and of the links of the senders
	Delay  time.Duration // one way, without what bytes take by their number
	Buffer int           // bytes, in front of the receiver
	RED    ecn.RED       // by which that marks

	DCQCN       bool   // off: nothing but the window that halves when packets are lost
	set         string // the name of the parameters before some were changed
	Params      ecn.Params
	CNPInterval time.Duration

	Seed uint64
}

// String is the scenario in a line.
func (s *Scenario) String() string {
	senders := fmt.Sprintf("%d senders", s.Senders)
	if s.Senders == 1 {
		senders = "1 sender"
	}
	return fmt.Sprintf("%s → %s → 1 receiver: %ss of %s at MTU %d, %v of virtual time, seed %d",
		senders, formatBitRate(s.Rate), strings.ToUpper(s.Operation.String()), formatBytes(s.Message), s.MTU, s.Duration, s.Seed)
}

// control names what keeps the flows from flooding the bottleneck, for programs.
func (s *Scenario) control() string {
	if s.DCQCN {
		return "dcqcn"
	}
	return "window"
}

// title is the same for people.
func (s *Scenario) title() string {
	if s.DCQCN {
		return "DCQCN"
	}
	return "window only"
}

// Starts are the times at which flows begin: a list, or if there is none, one after the
// other at equal distances.
type Starts struct {
	List  []time.Duration
	Every time.Duration
}

// Of is when the i-th flow begins, counted from 0.
func (s Starts) Of(i int) time.Duration {
	if len(s.List) > 0 {
		return s.List[i]
	}
	return time.Duration(i) * s.Every
}

// last is when the last of some flows begins.
func (s Starts) last(flows int) (last time.Duration) {
	for i := range flows {
		last = max(last, s.Of(i))
	}
	return last
}

// Bounds of a run: what is asked for, and what a run may take before it is ended.
const (
	maxPackets = 10_000_000 // data packets that fit through the bottleneck
	maxFrames  = 50_000_000 // of any kind, sent by anyone
	maxSamples = 20_000
)

// overhead is what a data packet takes of a link besides its payload, in bytes.
const overhead = wire.EthernetOverhead + wire.IPv4Len + wire.UDPLen + bth.BTHLen + bth.RETHLen + wire.ICRCLen

// validate checks what no single key can.
func (s *Scenario) validate() error {
	return errors.Join(s.checkTimes(), s.checkNetwork(), s.RED.Validate(), s.Params.Validate())
}

func (s *Scenario) checkTimes() error {
	if n := len(s.Starts.List); n > 0 && n != s.Senders {
		return fmt.Errorf("starts has %d times for %d senders; give one for each, or \"every 20ms\"", n, s.Senders)
	}
	if last := s.Starts.last(s.Senders); last >= s.Duration {
		return fmt.Errorf("the last flow begins at %v, and the duration is %v; make it longer", last, s.Duration)
	}
	if s.Sample%ticks != 0 {
		return fmt.Errorf("sample %v cannot be divided into %d whole nanoseconds; make it a multiple of 50ns", s.Sample, ticks)
	}
	if n := s.Duration / s.Sample; n < 1 || n > maxSamples {
		return fmt.Errorf("duration %v at one sample every %v are %d samples; must be 1 to %d: choose another sample", s.Duration, s.Sample, n, maxSamples)
	}
	return nil
}

func (s *Scenario) checkNetwork() error {
	packet := s.MTU + overhead
	if s.Buffer < packet {
		return fmt.Errorf("buffer %s cannot hold a packet of MTU %d; must be at least %s", formatBytes(s.Buffer), s.MTU, formatBytes(packet))
	}
	if n := s.Rate / 8 * s.Duration.Seconds() / float64(packet); n > maxPackets {
		return fmt.Errorf("%v at %s are %.0f packets of MTU %d; at most %d are simulated: make duration or rate smaller, or mtu larger",
			s.Duration, formatBitRate(s.Rate), n, s.MTU, maxPackets)
	}
	return nil
}
