package simnet

import (
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// frameSize holds the largest packet that Reserve is asked for, BTH … ICRC.
const frameSize = link.MaxHeader + link.MaxPayload + link.MaxTail

// residue is what frames in no use are filled with: neither zero nor anything that
// passes for a packet.
const residue = 0xdb

// frame is one packet, from Reserve to Release. It belongs to the sender's queue
// until Flush, to the world on its way, to the receiver's queue from then on.
type frame struct {
	event
	stage    stage
	from, to *Link // to is nil if no link has the destination address
	meta     link.Meta
	buf      []byte // frameSize bytes, more after Inject or in a super-frame
	n        int    // bytes of the UDP payload in buf
	seg      int    // of a super-frame: bytes per packet

	// Between Reserve and Flush: the sender's payload, and where it goes.
	gather   [link.MaxSGE][]byte
	pieces   int
	gatherAt int

	overtakers int // frames that must pass before this one goes on
}

// stage is where a frame is on its way, that is, what happens to it next.
type stage uint8

const (
	leaving   stage = iota // its last bit leaves the sender
	atSwitch               // it has reached the switch
	released               // a fault that held it up lets it go
	departing              // its first bit leaves a port that marks
	arriving               // its last bit reaches the receiver
)

// occur moves the frame on.
func (f *frame) occur(w *World) {
	switch f.stage {
	case leaving:
		w.left(f)
	case atSwitch:
		w.cross(f)
	case released:
		w.release(f)
	case departing:
		w.depart(f)
	case arriving:
		w.arrive(f)
	}
}

// bytes is the UDP payload.
func (f *frame) bytes() []byte { return f.buf[:f.n] }

// ipLen is the length of the IP packet.
func (f *frame) ipLen() int {
	if f.meta.Dst.Is4() {
		return wire.IPv4Len + wire.UDPLen + f.n
	}
	return wire.IPv6Len + wire.UDPLen + f.n
}

// complete copies the gathered payload to its place.
func (f *frame) complete() {
	at := f.gatherAt
	for i, piece := range f.gather[:f.pieces] {
		at += copy(f.buf[at:], piece)
		f.gather[i] = nil
	}
	f.pieces = 0
}

// frame takes a frame out of the pool.
func (w *World) frame() *frame {
	if last := len(w.spare) - 1; last >= 0 {
		f := w.spare[last]
		w.spare = w.spare[:last]
		return f
	}
	f := &frame{buf: make([]byte, frameSize)}
	f.what = f
	wipe(f.buf)
	return f
}

// free puts a frame into the pool. Whoever still looks at it sees residue.
func (w *World) free(f *frame) {
	wipe(f.bytes())
	f.from, f.to, f.n, f.seg = nil, nil, 0, 0
	w.spare = append(w.spare, f)
}

// wipe fills memory with residue.
func wipe(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = residue
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// duplicate returns a copy of a frame.
func (w *World) duplicate(f *frame) *frame {
	g := w.frame()
	g.from, g.to, g.meta, g.seg = f.from, f.to, f.meta, f.seg
	g.set(f.bytes())
	return g
}

// set gives the frame a content of any length.
func (f *frame) set(payload []byte) {
	if len(payload) > len(f.buf) {
		f.buf = make([]byte, len(payload))
	}
	f.n = copy(f.buf, payload)
}
