package testwire

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/rocinante-rdma/roce/fault"
)

// holdLimit is how long a reordered frame waits for those that shall overtake it.
const holdLimit = 10 * time.Millisecond

// Line is one direction of a wire. Its methods are safe for concurrent use; frames keep
// their order if one goroutine passes them.
type Line struct {
	rules    *fault.Set
	from, to string
	late     func(frame []byte)

	mu     sync.Mutex
	held   []*heldFrame
	counts Counts
	closed bool
	timers sync.WaitGroup
}

// heldFrame is a frame that waits.
type heldFrame struct {
	frame      []byte
	overtakers int // frames that must pass first, if it waits for such
	timer      *time.Timer
}

// Counts is what a Line has done. Frames that are no RoCEv2 packets do not count.
type Counts struct {
	Packets   uint64 // that met the rules
	Struck    uint64 // of these, to which something was done
	Forwarded uint64 // packets that went on, copies among them
	Waiting   uint64 // packets that are held up
}

// NewLine makes the line from one end to the other, by whose names the rules know them.
// Frames that the rules have held up go to late when their time has come, from a
// goroutine of its own, one or more at a time.
func NewLine(rules *fault.Set, from, to string, late func(frame []byte)) *Line {
	return &Line{rules: rules, from: from, to: to, late: late}
}

// Pass lets a frame meet the rules, if it is a RoCEv2 packet, and appends to now what goes
// on at once: the frame itself, copies of it and frames that it has overtaken. The appended
// may alias the frame, whose bytes the rules may change, and each other.
func (l *Line) Pass(now [][]byte, frame []byte) ([][]byte, fault.Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := parsePacket(frame)
	if !ok {
		return append(now, frame), fault.Fate{}
	}
	fate := l.judge(&p)
	if fate.Drop {
		return now, fate
	}
	for range fate.Copies {
		now = l.forward(now, frame)
	}
	switch {
	case fate.Overtakers > 0:
		l.hold(frame, fate.Overtakers, holdLimit)
	case fate.Delay > 0:
		l.hold(frame, never, fate.Delay)
	default:
		now = l.forward(now, frame)
	}
	return now, fate
}

// Counts returns what was done so far.
func (l *Line) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	c.Waiting = uint64(len(l.held))
	return c
}

// Close loses what is held up, and returns when late is called no more.
func (l *Line) Close() {
	l.mu.Lock()
	l.closed = true
	for _, h := range l.held {
		l.stop(h)
	}
	l.held = nil
	l.mu.Unlock()
	l.timers.Wait()
}

// judge asks the rules about a packet, and changes it.
func (l *Line) judge(p *packet) fault.Fate {
	fate := l.rules.Judge(fault.Frame{From: l.from, To: l.to, Payload: p.Payload, ECN: p.ecn()})
	if fate.Mark {
		p.mark()
	}
	l.counts.Packets++
	if fate != (fault.Fate{}) {
		l.counts.Struck++
	}
	return fate
}

// forward lets a frame go on, and after it those that it had to overtake.
func (l *Line) forward(now [][]byte, frame []byte) [][]byte {
	now = append(now, frame)
	l.counts.Forwarded++
	for i := 0; i < len(l.held); {
		h := l.held[i]
		if h.overtakers--; h.overtakers != 0 {
			i++
			continue
		}
		l.stop(h)
		l.held = slices.Delete(l.held, i, i+1)
		l.counts.Forwarded++
		now = append(now, h.frame)
	}
	return now
}

// never many frames overtake a delayed one.
const never = -1

// hold keeps a copy of a frame until it was overtaken, or for some time.
func (l *Line) hold(frame []byte, overtakers int, d time.Duration) {
	if l.closed {
		return
	}
	h := &heldFrame{frame: bytes.Clone(frame), overtakers: overtakers}
	l.held = append(l.held, h)
	l.timers.Add(1)
	h.timer = time.AfterFunc(d, func() {
		defer l.timers.Done()
		for _, f := range l.release(h) {
			l.late(f)
		}
	})
}

// stop ends the waiting of a frame.
func (l *Line) stop(h *heldFrame) {
	if h.timer.Stop() {
		l.timers.Done()
	}
}

// release is forward for a frame whose time has come, unless it went on meanwhile.
func (l *Line) release(h *heldFrame) (now [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.held, h)
	if i < 0 {
		return nil
	}
	l.held = slices.Delete(l.held, i, i+1)
	return l.forward(nil, h.frame)
}
