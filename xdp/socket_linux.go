package xdp

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/internal/sockopt"
	"github.com/rocinante-rdma/roce/link"
)

// binding is what a socket is bound to, and how.
type binding struct {
	nic   *nic.NIC
	itf   string // name of its base, for messages
	index int    // the same
	queue int
	flags uint16 // XDP_COPY, XDP_ZEROCOPY, XDP_USE_SG
}

// socket is an AF_XDP socket with its memory and rings, on one queue of an interface.
type socket struct {
	binding
	fd       int
	zeroCopy bool // the driver reads and writes our chunks itself
	down     bool // the interface was down at the last flush
	umem     *umem
	rx       receiver
	tx       transmitter
}

// openSocket makes a socket, and binds it to its queue.
func openSocket(b binding) (*socket, error) {
	s := &socket{binding: b}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("AF_XDP socket on %s: %w", s.name(), err), s.close())
	}
	return s, nil
}

func (s *socket) open() (err error) {
	s.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.fd = -1
		return explainSocket(err)
	}
	if s.umem, err = newUmem(s.fd); err != nil {
		return err
	}
	if err = s.openRings(); err != nil {
		return err
	}
	s.rx.init(s.nic, s.umem)
	s.tx.init(s.umem, s.perPacket())
	// Packets under way are charged to the socket in copy mode. Their number is
	// limited by the chunks already.
	sockopt.GrowSend(s.fd, 4*txChunks*chunkSize)
	if err = s.bind(); err != nil {
		return err
	}
	var options uint32
	err = getsockopt(s.fd, unix.XDP_OPTIONS, unsafe.Pointer(&options), unsafe.Sizeof(options))
	s.zeroCopy = options&unix.XDP_OPTIONS_ZEROCOPY != 0
	return err
}

// openRings makes and maps the four rings.
func (s *socket) openRings() error {
	for _, r := range []struct{ option, size int }{
		{unix.XDP_UMEM_FILL_RING, rxChunks},
		{unix.XDP_UMEM_COMPLETION_RING, txChunks},
		{unix.XDP_RX_RING, rxChunks},
		{unix.XDP_TX_RING, txChunks},
	} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, r.option, r.size); err != nil {
			return fmt.Errorf("make a ring: %w", err)
		}
	}
	var o unix.XDPMmapOffsets
	if err := getsockopt(s.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&o), unsafe.Sizeof(o)); err != nil {
		return fmt.Errorf("ask for the layout of the rings: %w", err)
	}
	return errors.Join(
		s.rx.fill.open(s.fd, unix.XDP_UMEM_PGOFF_FILL_RING, o.Fr, rxChunks),
		s.tx.completions.open(s.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, o.Cr, txChunks),
		s.rx.ring.open(s.fd, unix.XDP_PGOFF_RX_RING, o.Rx, rxChunks),
		s.tx.ring.open(s.fd, unix.XDP_PGOFF_TX_RING, o.Tx, txChunks))
}

// multiBuffer reports whether packets may take several chunks.
func (s *socket) multiBuffer() bool { return s.flags&unix.XDP_USE_SG != 0 }

// perPacket is how many chunks a packet takes at most.
func (s *socket) perPacket() int {
	if s.multiBuffer() {
		return (maxFrame + chunkSize - 1) / chunkSize
	}
	return 1
}

func (s *socket) name() string { return fmt.Sprintf("%s queue %d", s.itf, s.queue) }

// recv sets out to packets and returns their number.
func (s *socket) recv(out []link.Rx, c *counters) int {
	n := s.rx.recv(out, c)
	s.wakeRx()
	return n
}

// release gives the kernel what was lent to the engine.
func (s *socket) release() {
	s.rx.release()
	s.wakeRx()
}

// wakeRx tells a driver that ran out of chunks that there are some again.
func (s *socket) wakeRx() {
	if s.zeroCopy && s.rx.fill.needsWakeup() {
		kickRx(s.fd)
	}
}

// statistics are the kernel's; zeros if it does not say.
func (s *socket) statistics() (st unix.XDPStatistics) {
	_ = getsockopt(s.fd, unix.XDP_STATISTICS, unsafe.Pointer(&st), unsafe.Sizeof(st))
	return st
}

// close frees the queue, which the kernel keeps bound as long as a ring is mapped.
func (s *socket) close() error {
	var err error
	if s.fd >= 0 {
		err = unix.Close(s.fd)
		s.fd = -1
	}
	return errors.Join(err, s.rx.fill.close(), s.rx.ring.close(), s.tx.ring.close(), s.tx.completions.close())
}
