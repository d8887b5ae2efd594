package trace

// batch holds copies of events: packets in call order, and the bytes of their
// frames one behind the other. It is of fixed size, so that filling it allocates
// nothing.
type batch struct {
	packets []kept
	frames  []byte
}

// kept is one event in a batch.
type kept struct {
	event      Event // without Frame
	device     int
	lost       uint64
	start, end int // the frame's place in batch.frames
}

// meanFrame is the frame length, in bytes, down to which the bytes of a batch and
// not the number of packets are its limit.
const meanFrame = 256

func newBatch(size int) *batch {
	return &batch{
		packets: make([]kept, 0, size/meanFrame+1),
		frames:  make([]byte, 0, size),
	}
}

// put copies an event, and reports whether there was room for it.
func (b *batch) put(device int, lost uint64, e *Event) bool {
	n := 0
	for _, piece := range e.Frame {
		n += len(piece)
	}
	if len(b.packets) == cap(b.packets) || n > cap(b.frames)-len(b.frames) {
		return false
	}
	start := len(b.frames)
	for _, piece := range e.Frame {
		b.frames = append(b.frames, piece...)
	}
	b.packets = append(b.packets, kept{*e, device, lost, start, start + n})
	b.packets[len(b.packets)-1].event.Frame = nil
	return true
}

// halfFull is when the writer should come at once.
func (b *batch) halfFull() bool {
	return len(b.packets) > cap(b.packets)/2 || len(b.frames) > cap(b.frames)/2
}

func (b *batch) empty() { b.packets, b.frames = b.packets[:0], b.frames[:0] }
