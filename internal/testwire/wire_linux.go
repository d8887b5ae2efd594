package testwire

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/netns"
)

// Wire joins two hosts, each in a namespace of its own, by a cable that is cut in the
// middle and mended by the test: it forwards all frames, and lets RoCEv2 packets meet
// the rules. Super-frames it cuts into packets, as a network card does; tags of VLANs
// it does not keep. Its methods are safe for concurrent use.
type Wire struct {
	A, B *netns.Host // ends "a" and "b" of the rules

	// Faults is what goes wrong on the wire.
	Faults fault.Set

	star       *netns.Star
	ends       []*end
	halves     [2]*half
	forwarders sync.WaitGroup
}

// half is one direction of a Wire.
type half struct {
	*Line
	from, to *end
}

// New makes two hosts joined by a wire, with the addresses of [netns.NewStreet].
func New(o netns.Options) (*Wire, error) {
	star, err := netns.NewStar(2, o)
	if err != nil {
		return nil, err
	}
	w := &Wire{A: star.Hosts[0], B: star.Hosts[1], star: star}
	if err := w.mend(); err != nil {
		return nil, errors.Join(fmt.Errorf("mend a cut wire: %w", err), star.Close())
	}
	return w, nil
}

// mend joins the two ends in the middle.
func (w *Wire) mend() (err error) {
	if w.ends, err = openEnds(w.star); err != nil {
		return err
	}
	a, b := w.ends[0], w.ends[1]
	w.halves = [2]*half{newHalf(&w.Faults, "a", "b", a, b), newHalf(&w.Faults, "b", "a", b, a)}
	for _, h := range w.halves {
		w.forwarders.Go(h.forward)
	}
	return nil
}

func newHalf(rules *fault.Set, from, to string, in, out *end) *half {
	late := func(frame []byte) { out.writeFrame(frame, make([]byte, vnetLen+len(frame))) }
	return &half{NewLine(rules, from, to, late), in, out}
}

// forward takes frames from one end to the other until the wire is closed.
func (h *half) forward() {
	in, out := make([]byte, maxMessage), make([]byte, maxMessage)
	var frames, now [][]byte
	for {
		m, err := h.from.read(in)
		if err != nil {
			return
		}
		if len(m) < vnetLen {
			continue
		}
		var isPacket bool
		if frames, isPacket = m.cut(frames[:0]); !isPacket {
			h.to.write(m)
			continue
		}
		for _, f := range frames {
			now, _ = h.Pass(now[:0], f)
			for _, f := range now {
				h.to.writeFrame(f, out)
			}
		}
	}
}

// Counts returns what was done from A to B, and from B to A.
func (w *Wire) Counts() (ab, ba Counts) { return w.halves[0].Counts(), w.halves[1].Counts() }

// Close ends the wire, and lets go of the hosts. Its error is, besides, that frames were
// lost which no rule had struck.
func (w *Wire) Close() error {
	err := closeEnds(w.ends)
	w.forwarders.Wait()
	for _, h := range w.halves {
		h.Line.Close()
	}
	return errors.Join(err, w.star.Close())
}
