package raw

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// port is the AF_PACKET socket with its memory of frames. See [nic.Port] for who may
// call what.
type port struct {
	nic    *nic.NIC
	ifname string

	fd     int
	inUse  sync.RWMutex // by whoever uses fd aside from the queue
	closed bool

	box         outbox.Box[*wire.Template]
	burst       burst
	full        int // flushes since the device's queue last had room
	superFrames atomic.Bool
	gsoType     uint8 // what a super-frame is called in its virtio header
	rx          receiver
	count       counters
}

var _ nic.Port = (*port)(nil)

func openPort(n *nic.NIC, superFrames bool) (*port, error) {
	name, index := n.Base()
	fd, err := openSocket(index, n.Addrs())
	if err != nil {
		return nil, err
	}
	p := &port{nic: n, ifname: name, fd: fd, gsoType: gsoUDP}
	p.superFrames.Store(superFrames)
	p.box.Init(burstBytes)
	if !superFrames {
		p.box.SetBurst(0)
	}
	p.burst.init()
	p.rx.init()
	return p, nil
}

// Room counts packets of maximal size. See [nic.Port].
func (p *port) Room() int { return p.box.Room() }

// Reserve begins a packet. Its identification is its place in the super-frame that it
// may travel in, as the kernel numbers those of its UDP sockets: a receiver that sees
// no identification expects just that. It need not be unique, since packets that may
// not be fragmented are not reassembled (RFC 6864, 4.1).
func (p *port) Reserve(t *wire.Template, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	s.ID = uint16(p.box.Reserve(t, hdr, pay, pad, mustCopy, s).Index)
}

// Sockets is the one socket. See [nic.Port].
func (p *port) Sockets() []int { return []int{p.fd} }

// overrun is how many frames the kernel dropped since the receive buffer was full.
func (p *port) overrun() uint64 {
	p.inUse.RLock()
	defer p.inUse.RUnlock()
	if p.closed {
		return p.count.overrun.total
	}
	return p.count.overrun.look(p.fd)
}

// Close closes the socket. See [nic.Port].
func (p *port) Close() error {
	p.inUse.Lock()
	defer p.inUse.Unlock()
	p.closed = true
	return unix.Close(p.fd)
}
