package roce_test

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/perfpage/samples"
)

// stopSize is the length of the message that ends an exchange.
const stopSize = 1

// BenchmarkLatency exchanges messages of 64 bytes over the loopback interface, one
// at a time, and reports half the time of a round trip. Datagrams of the baselines
// are as long as the packets.
func BenchmarkLatency(b *testing.B) {
	b.Run("SEND/poll", func(b *testing.B) { pingVerbs(b, poll) })
	b.Run("SEND/wait", func(b *testing.B) { pingVerbs(b, wait) })
	b.Run("UDP/poll", func(b *testing.B) { pingSockets(b, loopbackPlace, loopbackPlace) })
	b.Run("UDP/wait", func(b *testing.B) { pingConns(b, loopbackPlace, loopbackPlace) })
}

// talker is one end of an exchange.
type talker interface {
	say(size int)
	hear() (size int)
}

// exchange has y answer everything that x says.
func exchange(b *testing.B, x, y talker) {
	b.ReportAllocs()
	answered := make(chan int)
	go func() {
		n := 0
		for y.hear() != stopSize {
			y.say(smallSize)
			n++
		}
		answered <- n
	}()
	trips := samples.New()
	for b.Loop() {
		start := time.Now()
		x.say(smallSize)
		if x.hear() != smallSize {
			b.Fatal("the answer has another length")
		}
		trips.Add(time.Since(start))
	}
	x.say(stopSize)
	require.Equal(b, trips.Count(), <-answered)
	trips.ReportHalf(b)
}

// verbs talks by SEND.
type verbs struct {
	*end
	b    *testing.B
	reap reaper
	wc   [2]roce.WC
	// Work requests, made once.
	message, stop []roce.SendWR
	next          []roce.RecvWR
}

func pingVerbs(b *testing.B, reap reaper) {
	x, y := newLoopbackPair(b, 2*smallSize, depth)
	exchange(b, newVerbs(b, x, reap), newVerbs(b, y, reap))
}

func newVerbs(b *testing.B, e *end, reap reaper) *verbs {
	send := func(size int) []roce.SendWR {
		return []roce.SendWR{{Op: roce.OpSend, SGE: e.mr.SGE(smallSize, size), Flags: roce.Signaled | roce.Inline}}
	}
	v := &verbs{
		end: e, b: b, reap: reap,
		message: send(smallSize), stop: send(stopSize), next: []roce.RecvWR{{SGE: e.mr.SGE(0, smallSize)}},
	}
	v.listen()
	return v
}

func (v *verbs) say(size int) {
	if size == stopSize {
		post(v.end, v.stop)
		return
	}
	post(v.end, v.message)
}

// listen makes ready for a message.
func (v *verbs) listen() {
	_, err := v.qp.PostRecv(v.next...)
	must(err)
}

// hear takes completions until one is of a message. There is never another message
// behind it.
func (v *verbs) hear() (size int) {
	for {
		for _, wc := range v.wc[:reapGood(v.b, v.end, v.wc[:], v.reap)] {
			if wc.Opcode == roce.WCRecv {
				size = int(wc.ByteLen)
			}
		}
		if size > 0 {
			v.listen()
			return size
		}
	}
}

// conn talks by datagrams of package net, which sleeps until one arrives.
type conn struct {
	*net.UDPConn
	to  netip.AddrPort
	buf [smallSize + datagramOverhead]byte
}

func pingConns(b *testing.B, one, two place) {
	x, y := newNetConns(b, one, two)
	exchange(b, &conn{UDPConn: x, to: addrPort(y)}, &conn{UDPConn: y, to: addrPort(x)})
}

func (c *conn) say(size int) {
	_, err := c.WriteToUDPAddrPort(c.buf[:size+datagramOverhead], c.to)
	must(err)
}

func (c *conn) hear() (size int) {
	n, _, err := c.ReadFromUDPAddrPort(c.buf[:])
	must(err)
	return n - datagramOverhead
}

// socket talks by datagrams and spins, by system calls that the scheduler does not
// hear of: the least that the kernel's UDP takes.
type socket struct {
	fd  int
	buf [smallSize + datagramOverhead]byte
}

func pingSockets(b *testing.B, one, two place) {
	x, xAddr := newSocket(b, one)
	y, yAddr := newSocket(b, two)
	require.NoError(b, unix.Connect(x.fd, yAddr))
	require.NoError(b, unix.Connect(y.fd, xAddr))
	exchange(b, x, y)
}

func newSocket(b *testing.B, p place) (*socket, *unix.SockaddrInet4) {
	b.Helper()
	s := &socket{}
	require.NoError(b, p.enter(func() (err error) {
		s.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		return err
	}))
	b.Cleanup(func() { unix.Close(s.fd) })
	require.NoError(b, unix.Bind(s.fd, &unix.SockaddrInet4{Addr: p.addr.As4()}))
	addr, err := unix.Getsockname(s.fd)
	require.NoError(b, err)
	return s, addr.(*unix.SockaddrInet4)
}

func (s *socket) say(size int) {
	if _, errno := s.call(unix.SYS_SENDTO, size+datagramOverhead); errno != 0 {
		panic(errno)
	}
}

func (s *socket) hear() (size int) {
	for {
		if n, errno := s.call(unix.SYS_RECVFROM, len(s.buf)); errno == 0 {
			return n - datagramOverhead
		}
	}
}

func (s *socket) call(trap uintptr, n int) (int, syscall.Errno) {
	got, _, errno := unix.RawSyscall6(trap, uintptr(s.fd), uintptr(unsafe.Pointer(&s.buf)), uintptr(n), 0, 0, 0)
	return int(got), errno
}
