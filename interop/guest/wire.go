//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rocinante-rdma/roce/wire"
)

// Direction is the way a frame takes on a Wire.
type Direction int

// The two directions.
const (
	FromGuest Direction = iota
	ToGuest
)

func (d Direction) String() string {
	if d == FromGuest {
		return "from guest"
	}
	return "to guest"
}

// Filter sees an Ethernet frame on its way, may change its bytes in place, and says
// how many copies of it arrive: 1 lets it pass, 0 loses it, 2 doubles it.
type Filter func(d Direction, frame []byte) (copies int)

// inboxFrames bounds the frames that wait for a reader.
const inboxFrames = 8192

// frameRoom is what a frame is longer than the MTU at most: Ethernet's header and
// a VLAN tag, and some more, so that a longer one shows as one.
const frameRoom = 64

// errWireClosed is the error of a Wire's methods after Close.
var errWireClosed = errors.New("guest: the wire is closed")

// Wire is the guest's data link with the test process at the other end: QEMU
// and the Wire exchange Ethernet frames (without FCS) over unix datagram
// sockets, losing none. The Wire answers ARP and neighbour solicitations for
// its own addresses; all other frames from the guest wait for ReadFrame, or for
// the Link if one is open.
//
// Its methods are safe for concurrent use.
type Wire struct {
	conn *net.UnixConn
	peer string // path of QEMU's socket
	mtu  int

	inbox    chan []byte
	free     chan []byte // buffers of frames that a link has given back
	overflow atomic.Uint64
	link     atomic.Pointer[wireLink] // the open one
	closed   chan struct{}
	readDone chan struct{}

	mu     sync.Mutex
	addrs  []netip.Addr
	filter Filter
	rec    *pcapWriter
	macs   map[netip.Addr]wire.MAC // learned from the guest's frames
}

// newWire binds the socket at the path own for the QEMU whose socket will be
// at the path peer.
func newWire(own, peer string, mtu int) (*Wire, error) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("guest: the wire's socket: %w (a socket's path has 107 bytes at most, %s has %d: is TMPDIR long?)", err, own, len(own))
	}
	w := &Wire{
		conn: conn, peer: peer, mtu: mtu,
		inbox: make(chan []byte, inboxFrames), free: make(chan []byte, inboxFrames), closed: make(chan struct{}), readDone: make(chan struct{}),
		addrs: []netip.Addr{HostIPv4.Addr(), HostIPv6.Addr()},
		macs:  map[netip.Addr]wire.MAC{},
	}
	go w.receive()
	return w, nil
}

// connect connects to QEMU's socket, which exists once QEMU runs. Only a
// connected datagram socket can wait for room in the other one's queue.
func (w *Wire) connect() error {
	raw, err := w.conn.SyscallConn()
	if err != nil {
		return err
	}
	var cerr error
	err = raw.Control(func(fd uintptr) {
		cerr = syscall.Connect(int(fd), &syscall.SockaddrUnix{Name: w.peer})
	})
	if err = errors.Join(err, cerr); err != nil {
		return fmt.Errorf("guest: connect the wire to QEMU: %w", err)
	}
	return nil
}

// receive takes the guest's frames until the socket is closed.
func (w *Wire) receive() {
	defer close(w.readDone)
	for {
		buf := w.buffer()
		n, err := w.conn.Read(buf)
		if err != nil {
			return
		}
		w.fromGuest(buf[:n])
	}
}

// buffer returns a buffer for a frame of the greatest length.
func (w *Wire) buffer() []byte {
	select {
	case b := <-w.free:
		return b[:cap(b)]
	default:
		return make([]byte, w.mtu+frameRoom)
	}
}

// recycle takes back a buffer that nobody uses any more.
func (w *Wire) recycle(frame []byte) {
	select {
	case w.free <- frame:
	default:
	}
}

// fromGuest answers a frame or puts it into the inbox.
func (w *Wire) fromGuest(frame []byte) {
	w.mu.Lock()
	if w.rec != nil {
		w.rec.frame(frame)
	}
	copies := w.filtered(FromGuest, frame)
	var answer []byte
	if copies > 0 {
		w.learn(frame)
		answer = w.answer(frame)
	}
	w.mu.Unlock()
	switch {
	case copies == 0:
		w.recycle(frame)
	case answer != nil:
		w.recycle(frame)
		_ = w.WriteFrame(answer) // fails only when the guest is going away
	default:
		for range copies - 1 {
			w.deliver(append(w.buffer()[:0], frame...))
		}
		w.deliver(frame)
	}
}

// deliver puts a frame into the inbox.
func (w *Wire) deliver(frame []byte) {
	select {
	case w.inbox <- frame:
	default:
		w.overflow.Add(1)
	}
	if l := w.link.Load(); l != nil {
		l.arrived()
	}
}

// filtered is what the filter says; the caller holds the lock.
func (w *Wire) filtered(d Direction, frame []byte) (copies int) {
	if w.filter == nil {
		return 1
	}
	return w.filter(d, frame)
}

// ReadFrame returns the guest's next frame, which is the caller's. It waits
// until there is one, the context ends or the wire is closed.
func (w *Wire) ReadFrame(ctx context.Context) ([]byte, error) {
	select {
	case f := <-w.inbox:
		return f, nil
	default:
	}
	select {
	case f := <-w.inbox:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.closed:
		return nil, errWireClosed
	}
}

// WriteFrame sends a frame to the guest, waiting while QEMU takes none. The
// filter may change the frame's bytes.
func (w *Wire) WriteFrame(frame []byte) error {
	for range w.pass(frame) {
		if _, err := w.conn.Write(frame); err != nil {
			return fmt.Errorf("guest: send to the guest: %w", err)
		}
	}
	return nil
}

// pass filters and records a frame to the guest, and says how often to send it.
func (w *Wire) pass(frame []byte) (copies int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	copies = w.filtered(ToGuest, frame)
	if w.rec != nil {
		for range copies {
			w.rec.frame(frame)
		}
	}
	return copies
}

// SetFilter installs the filter of both directions; nil lets all pass. Calls
// of the filter never overlap. It must not call the Wire's methods.
func (w *Wire) SetFilter(f Filter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filter = f
}

// SetAddrs sets the addresses for which the wire answers, at first HostIPv4 and
// HostIPv6. They share HostMAC.
func (w *Wire) SetAddrs(addrs ...netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addrs = append([]netip.Addr(nil), addrs...)
}

// Overflow returns how many frames were lost because nobody read them.
func (w *Wire) Overflow() uint64 { return w.overflow.Load() }

// Record writes all frames from now on to a capture file (pcap, Ethernet), as
// the guest's NIC sees them: what the guest sends before the filter, what it
// gets after. stop ends the recording and closes the file; its error is the
// first one of the writing. A second Record ends the first.
func (w *Wire) Record(path string) (stop func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	p, err := newPcapWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w.mu.Lock()
	old := w.rec
	w.rec = p
	w.mu.Unlock()
	if old != nil {
		if err := old.close(); err != nil {
			return nil, err
		}
	}
	return func() error {
		w.mu.Lock()
		if w.rec == p {
			w.rec = nil
		}
		w.mu.Unlock()
		return p.close()
	}, nil
}

// Close ends the wire and a recording.
func (w *Wire) Close() error {
	w.mu.Lock()
	rec := w.rec
	w.rec = nil
	w.mu.Unlock()
	if l := w.link.Load(); l != nil {
		_ = l.Close() // cannot fail
	}
	err := w.conn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	close(w.closed)
	<-w.readDone
	if rec != nil {
		err = errors.Join(err, rec.close())
	}
	return err
}

var _ io.Closer = (*Wire)(nil)
