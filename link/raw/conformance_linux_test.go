package raw

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

func TestConformance(t *testing.T) {
	run := linktest.Run // once: all sleep alike
	for _, c := range []struct {
		name, a, b string
		mtu        int
		opts       []Option
	}{
		{"IPv4, MTU 9000", "10.9.0.1", "10.9.0.2", 9000, nil},
		{"IPv6, MTU 1500", "fd09::1", "fd09::2", 1500, nil},
		{"IPv4, MTU 1500, single frames", "10.9.0.1", "10.9.0.2", 1500, []Option{NoSuperFrames()}},
		{"IPv6, MTU 9000, single frames", "fd09::1", "fd09::2", 9000, []Option{NoSuperFrames()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(t *testing.T) linktest.Pair {
				w := newNetwork(t, c.mtu)
				a := w.openA(append(c.opts, Addrs(addr(c.a)))...)
				b := w.openB(append(c.opts, Addrs(addr(c.b)))...)
				return linktest.Pair{
					A: a, B: b, Window: window(t, b),
					Inject: func(payload []byte) error { return inject(a, b, payload) },
				}
			})
		})
		run = linktest.RunMoving
	}
}

// A kernel that refuses super-frames: the type is one it does not know.
func TestConformanceWhereSuperFramesAreRefused(t *testing.T) {
	linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
		w := newNetwork(t, 9000)
		a, b := w.openA(), w.openB()
		a.port.gsoType, b.port.gsoType = unknownGSO, unknownGSO
		return linktest.Pair{A: a, B: b, Window: window(t, b)}
	})
}

const unknownGSO = 0x3f

func TestConformanceWithUDP(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"IPv4", "10.9.0.1", "10.9.0.2"},
		{"IPv6", "fd09::1", "fd09::2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
				w := newNetwork(t, 9000)
				u := openUDP(w.b, c.b)
				receive, _ := u.Buffers()
				return linktest.Pair{A: w.openA(Addrs(addr(c.a))), B: u, Window: receive / (4 * outbox.MaxPacket)}
			})
		})
		t.Run(c.name+" back", func(t *testing.T) {
			linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
				w := newNetwork(t, 9000)
				a := w.openA(Addrs(addr(c.a)))
				return linktest.Pair{A: openUDP(w.b, c.b), B: a, Window: window(t, a)}
			})
		})
	}
}

// window is how many packets a link's receive buffer surely holds: the kernel charges
// more than the bytes.
func window(t *testing.T, l *Link) int {
	n, err := unix.GetsockoptInt(l.port.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	require.NoError(t, err)
	return n / (4 * outbox.MaxPacket)
}

// inject sends a UDP payload by a link's socket, past its queue.
func inject(from, to link.Link, payload []byte) error {
	a := from.(*Link)
	p := wire.Path{Src: a.Addrs()[0], Dst: to.Addrs()[0], SrcPort: 0xc001}
	if err := a.Resolve(&p); err != nil {
		return err
	}
	h := p.Headers(0)
	return a.sendFrame(append(h.AppendFrame(nil, len(payload)), payload...))
}

// sendFrame sends a whole frame.
func (l *Link) sendFrame(frame []byte) error {
	return sendBytes(l.port.fd, append(make([]byte, vnetLen), frame...))
}

func sendBytes(fd int, b []byte) error {
	_, err := unix.Write(fd, b)
	return err
}
