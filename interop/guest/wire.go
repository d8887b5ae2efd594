//go:build linux

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/testwire"
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

// Tap sees an Ethernet frame as it was sent, and what the faults made of it. The bytes
// are the Tap's.
type Tap func(d Direction, frame []byte, fate fault.Fate)

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
	// Faults is what goes wrong on the wire, with RoCEv2 packets. Its ends are "host"
	// and "guest".
	Faults fault.Set

	conn *net.UnixConn
	peer string // path of QEMU's socket
	mtu  int

	inbox    chan []byte
	free     chan []byte // buffers of frames that a link has given back
	overflow atomic.Uint64
	link     atomic.Pointer[wireLink] // the open one
	closed   chan struct{}
	readDone chan struct{}
	lines    [2]*testwire.Line // by Direction

	mu    sync.Mutex
	addrs []netip.Addr
	tap   Tap
	rec   *recording
	macs  map[netip.Addr]wire.MAC // learned from the guest's frames
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
	w.lines = [...]*testwire.Line{
		FromGuest: testwire.NewLine(&w.Faults, "guest", "host", w.accept),
		ToGuest: testwire.NewLine(&w.Faults, "host", "guest", func(frame []byte) {
			w.record(frame)
			_ = w.send(frame) // fails only when the guest is going away
		}),
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
	frame := make([]byte, w.mtu+frameRoom)
	var now [][]byte
	for {
		n, err := w.conn.Read(frame)
		if err != nil {
			return
		}
		w.record(frame[:n])
		now = w.pass(now[:0], FromGuest, frame[:n])
		for _, f := range now {
			w.accept(f)
		}
	}
}

// pass lets a frame meet the faults, and appends what goes on at once.
func (w *Wire) pass(now [][]byte, d Direction, frame []byte) [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sent []byte
	if w.tap != nil {
		sent = bytes.Clone(frame)
	}
	now, fate := w.lines[d].Pass(now, frame)
	if w.tap != nil {
		w.tap(d, sent, fate)
	}
	return now
}

// record records a frame, if there is a recording.
func (w *Wire) record(frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rec != nil {
		w.rec.Frame(time.Now(), frame)
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

// accept answers a frame from the guest, or puts a copy of it into the inbox.
func (w *Wire) accept(frame []byte) {
	w.mu.Lock()
	w.learn(frame)
	answer := w.answer(frame)
	w.mu.Unlock()
	if answer != nil {
		_ = w.WriteFrame(answer) // fails only when the guest is going away
		return
	}
	w.deliver(append(w.buffer()[:0], frame...))
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

// WriteFrame sends a frame to the guest, waiting while QEMU takes none. Faults may
// change the frame's bytes.
func (w *Wire) WriteFrame(frame []byte) error {
	for _, f := range w.passToGuest(nil, frame) {
		if err := w.send(f); err != nil {
			return err
		}
	}
	return nil
}

// passToGuest is pass of a frame to the guest, and records what goes on.
func (w *Wire) passToGuest(now [][]byte, frame []byte) [][]byte {
	now = w.pass(now, ToGuest, frame)
	for _, f := range now {
		w.record(f)
	}
	return now
}

// send hands a frame to QEMU.
func (w *Wire) send(frame []byte) error {
	if _, err := w.conn.Write(frame); err != nil {
		return fmt.Errorf("guest: send to the guest: %w", err)
	}
	return nil
}

// SetTap has a tap see all frames of both directions from now on; nil ends that. Its
// calls never overlap. It must not call the Wire's methods.
func (w *Wire) SetTap(t Tap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tap = t
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
// the guest's NIC sees them: what the guest sends before the faults, what it
// gets after. stop ends the recording and closes the file; its error is the
// first one of the writing. A second Record ends the first.
func (w *Wire) Record(path string) (stop func() error, err error) {
	p, err := newRecording(path)
	if err != nil {
		return nil, err
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
	for _, l := range w.lines {
		l.Close()
	}
	if rec != nil {
		err = errors.Join(err, rec.close())
	}
	return err
}

var _ io.Closer = (*Wire)(nil)
