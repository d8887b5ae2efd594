package rc_test

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/wire"
)

// modelLatency is the way of a packet without fault.
const modelLatency = time.Microsecond

// modelFault is what the wire does to a packet.
type modelFault uint8

const (
	modelDrop    modelFault = iota
	modelDup                // it comes twice
	modelReorder            // it comes after what is sent within a few microseconds
	modelCorrupt            // a bit changes: the ICRC finds it
	modelDelay              // it comes after its sender has given it up
	modelDupLate            // it comes twice, the second one after a delay
	numModelFaults
)

var modelFaultNames = [...]string{"DROPPED", "DOUBLED", "OVERTAKEN", "CORRUPTED", "DELAYED", "DOUBLED LATE"}

func (f modelFault) String() string { return modelFaultNames[f] }

// harms reports whether the fault can make the requester go back.
func (f modelFault) harms() bool { return f != modelDup && f != modelDupLate }

// modelPacket is a packet on its way.
type modelPacket struct {
	at  clock.Time
	to  *modelEnd
	raw []byte
}

// modelWire carries packets between the ends, in order unless a fault happens. Faults
// come by position, as planned, and by probability.
type modelWire struct {
	packets []modelPacket // sorted by at; equal ones as they were sent
	planned []modelPlanned
	rates   modelRates
	dice    *rand.Rand
	free    [][]byte
	check   wire.Verifier
	path    wire.Path
}

// modelPlanned is a fault that waits for its packet.
type modelPlanned struct {
	side  int // where the packet comes from
	class modelClass
	skip  int
	fault modelFault
}

func newModelWire(rates modelRates) modelWire {
	w := modelWire{rates: rates, dice: rand.New(rand.NewPCG(rates.seed, 0))}
	w.path = wire.Path{Src: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Dst: netip.AddrFrom4([4]byte{10, 0, 0, 2}), SrcPort: 0xc000}
	w.path.Prepare()
	return w
}

// heal ends all faults of packets not yet sent.
func (w *modelWire) heal() { w.planned, w.rates = nil, modelRates{} }

// modelClassOf is the class of a packet.
func modelClassOf(op bth.Opcode) modelClass {
	switch {
	case op == bth.RCAcknowledge:
		return modelAck
	case op.Is(bth.Response):
		return modelReadData
	}
	return modelRequest
}

// fate is the fault that happens to a packet, if any.
func (w *modelWire) fate(side int, class modelClass) (f modelFault, faulty bool) {
	for i := range w.planned {
		p := &w.planned[i]
		if p.side != side || p.class != modelAnyPacket && p.class != class {
			continue
		}
		if p.skip--; p.skip < 0 && !faulty {
			f, faulty = p.fault, true
			w.planned = append(w.planned[:i], w.planned[i+1:]...)
			return f, faulty
		}
	}
	for f, rate := range w.rates.of {
		if rate != 0 && w.dice.IntN(1000) < rate {
			return modelFault(f), true
		}
	}
	return 0, false
}

// send takes a packet of e to its peer.
func (w *modelWire) send(e *modelEnd, now clock.Time, op bth.Opcode, raw []byte) {
	p := modelPacket{at: now.Add(modelLatency), to: e.peer, raw: raw}
	f, faulty := w.fate(e.side, modelClassOf(op))
	if !faulty {
		e.world.note(e, raw, "")
		w.insert(p)
		return
	}
	e.world.note(e, raw, f.String())
	e.world.met.faults[f]++
	if f.harms() {
		e.faults++
		e.peer.faults++
	}
	late := 50 * time.Microsecond << w.dice.IntN(8) // up to 6.4 ms
	switch f {
	case modelDrop:
		w.free = append(w.free, raw)
	case modelDup, modelDupLate:
		w.insert(p)
		p.raw = append(w.buffer(), raw...)
		if f == modelDupLate {
			p.at = p.at.Add(late)
		}
		w.insert(p)
	case modelReorder:
		p.at = p.at.Add(3 * modelLatency)
		w.insert(p)
	case modelDelay:
		p.at = p.at.Add(late)
		w.insert(p)
	case modelCorrupt:
		w.corrupt(p)
	}
}

// corrupt flips a bit of a sealed packet. What the ICRC does not find goes on: the bit
// is one that routers may change.
func (w *modelWire) corrupt(p modelPacket) {
	n := len(p.raw)
	raw := append(p.raw, 0, 0, 0, 0)
	w.path.Seal(0, raw[:n], nil, raw[n:])
	raw[w.dice.IntN(len(raw))] ^= 1 << w.dice.IntN(8)
	if w.check.Verify(w.path.Src, w.path.Dst, w.path.SrcPort, wire.DontFragment, 0, [2][]byte{raw}) != wire.ICRCGood {
		w.free = append(w.free, raw)
		return
	}
	p.raw = raw[:n]
	w.insert(p)
}

func (w *modelWire) insert(p modelPacket) {
	i := len(w.packets)
	for i > 0 && w.packets[i-1].at > p.at {
		i--
	}
	w.packets = append(w.packets, modelPacket{})
	copy(w.packets[i+1:], w.packets[i:])
	w.packets[i] = p
}

// next takes the first packet off, if it is due.
func (w *modelWire) next(now clock.Time) (p modelPacket, due bool) {
	if len(w.packets) == 0 || w.packets[0].at > now {
		return p, false
	}
	p = w.packets[0]
	w.packets = append(w.packets[:0], w.packets[1:]...)
	return p, true
}

// due is when the next packet arrives.
func (w *modelWire) due() clock.Time {
	if len(w.packets) == 0 {
		return clock.Never
	}
	return w.packets[0].at
}

// forget loses what is under way to an end: its connection ended long ago.
func (w *modelWire) forget(e *modelEnd) {
	kept := w.packets[:0]
	for _, p := range w.packets {
		if p.to != e {
			kept = append(kept, p)
		}
	}
	w.packets = kept
}

// buffer is an empty buffer for a packet.
func (w *modelWire) buffer() []byte {
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 512)
}
