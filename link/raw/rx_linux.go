package raw

import (
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/link"
)

const (
	rxFrames = 64
	// frameSize holds the largest IP packet with its Ethernet header, and a tag.
	frameSize = 1<<16 + 64

	// recvTries bounds the calls of one Recv: errors and frames that are dropped are
	// skipped, but a flood of them must not hold the shard.
	recvTries = 4
)

// receiver holds the frames that Recv lends, in order, until Release.
type receiver struct {
	memory  []byte
	msgs    [rxFrames]mmsg.Message
	iovs    [rxFrames][2]unix.Iovec // virtio header, frame
	vnet    [rxFrames][vnetLen]byte
	control [rxFrames][controlSize]byte
	lent    int
	pace    mmsg.Pace
}

func (r *receiver) init() {
	r.memory = make([]byte, rxFrames*frameSize)
	for i := range r.msgs {
		mmsg.SetPiece(&r.iovs[i][0], r.vnet[i][:])
		mmsg.SetPiece(&r.iovs[i][1], r.memory[i*frameSize:(i+1)*frameSize])
		m := &r.msgs[i].Msghdr
		m.Iov = &r.iovs[i][0]
		m.SetIovlen(2)
		m.Control = &r.control[i][0]
	}
}

// next prepares the messages of the next call.
func (r *receiver) next(limit int) []mmsg.Message {
	msgs := r.msgs[r.lent:min(r.lent+min(limit, r.pace.Next()), rxFrames)]
	for i := range msgs {
		msgs[i].Flags = 0
		msgs[i].SetControllen(controlSize)
	}
	return msgs
}

func (r *receiver) frame(i, n int) []byte {
	at := i * frameSize
	return r.memory[at : at+n : at+n]
}

// Recv makes one receive call, or a few when the first brings nothing for the engine.
// See [nic.Port].
func (p *port) Recv(rx []link.Rx) int {
	for range recvTries {
		msgs := p.rx.next(len(rx))
		if len(msgs) == 0 {
			return 0
		}
		n, errno := mmsg.Recv(p.fd, msgs)
		switch errno {
		case 0:
		case unix.EAGAIN:
			p.rx.pace = mmsg.Pace{}
			return 0
		case unix.EINTR:
			continue
		case unix.EINVAL:
			p.count.unknownSuper.Add(1)
			continue
		default: // the interface went down, reported once
			p.count.sockErrors.Add(1)
			continue
		}
		frames, bytes := p.lend(n, rx)
		p.rx.pace.Note(len(msgs), n, bytes, rxFrames/2)
		if frames > 0 {
			return frames
		}
	}
	return 0
}

// Release takes all frames back. See [nic.Port].
func (p *port) Release() { p.rx.lent = 0 }

// lend enters the frames of the last call into rx that are for the engine, and returns
// how many, and how many bytes came in all.
func (p *port) lend(n int, rx []link.Rx) (frames, bytes int) {
	for i := p.rx.lent; i < p.rx.lent+n; i++ {
		bytes += int(p.rx.msgs[i].N)
		if p.accept(i, &rx[frames]) {
			frames++
		}
	}
	if frames > 0 { // else nobody will give them back
		p.rx.lent += n
	}
	return frames, bytes
}

// accept makes message i an entry for the engine, or counts why it is none.
func (p *port) accept(i int, rx *link.Rx) bool {
	m := &p.rx.msgs[i]
	n := int(m.N) - vnetLen
	switch {
	case m.Flags&unix.MSG_TRUNC != 0 || n > frameSize:
		p.count.truncated.Add(1)
		return false
	case n < 0:
		p.count.short.Add(1)
		return false
	}
	seg, ok := segmentOf(parseVnet(p.rx.vnet[i][:]))
	if !ok {
		p.count.unknownSuper.Add(1)
		return false
	}
	tag, ok := tagOf(p.rx.control[i][:m.Controllen])
	if !ok {
		p.count.foreignTag.Add(1)
		return false
	}
	frame := p.rx.frame(i, n)
	payload, size, ok := p.nic.Accept(frame, n, tag, &rx.Meta)
	if !ok {
		return false
	}
	rx.Frag = [2][]byte{frame[payload : payload+size : payload+size]}
	rx.Seg = 0
	if seg != 0 && seg < size {
		rx.Seg = seg
		rx.Meta.IDKnown = rx.Meta.Src.Is6()
		p.count.superReceived.Add(1)
	}
	return true
}

// segmentOf is the size of the packets in a super-frame, 0 for a single one. It is not
// ok if the kernel means another kind of super-frame.
func segmentOf(h vnetHeader) (seg int, ok bool) {
	switch h.gsoType &^ gsoECN {
	case gsoNone:
		return 0, true
	case gsoUDP:
		return int(h.segment), h.segment != 0
	}
	return 0, false
}
