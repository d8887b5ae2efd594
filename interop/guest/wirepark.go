//go:build linux

package guest

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// wireParker puts a wireQueue to sleep. It uses Go's timers, which can be a
// millisecond late: no matter beside an emulated guest.
type wireParker struct {
	w      *Wire
	wakeUp chan struct{} // Wake
	event  chan struct{} // anything else that may end a Park: look again
	closed chan struct{}
	timer  *time.Timer
	writer *socketDup

	mu       sync.Mutex
	until    clock.Time
	want     link.Interest
	watching bool // for room in QEMU's queue
	room     bool // seen since the last Arm
}

func (p *wireParker) init(w *Wire) error {
	p.w = w
	p.wakeUp, p.event, p.closed = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	p.timer = time.AfterFunc(time.Hour, p.poke)
	p.timer.Stop()
	var err error
	p.writer, err = dupSocket(w.conn)
	return err
}

// poke has a Park look whether it is over.
func (p *wireParker) poke() { poke(p.event) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// arrived is called after a frame was put into the inbox.
func (p *wireParker) arrived() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want.Rx {
		p.poke()
	}
}

// Arm prepares to sleep. See link.Queue.
func (p *wireParker) Arm(until clock.Time, i link.Interest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until, p.want, p.room = until, i, false
	if until == clock.Never {
		p.timer.Stop()
	} else {
		p.timer.Reset(max(0, until.Sub(clock.Now())))
	}
	if i.Tx && !p.watching {
		p.watching = true
		go p.watch()
	}
	p.poke() // what came before Arm ends a Park too
}

// watch waits until QEMU's queue has room.
func (p *wireParker) watch() {
	// An error means that the link is closed, which ends a Park as well.
	_ = p.writer.raw.Write(func(fd uintptr) bool {
		f := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(f, 0)
		return n > 0 || (err != nil && err != unix.EINTR)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching, p.room = false, true
	p.poke()
}

// Park sleeps as armed. See link.Queue.
func (p *wireParker) Park() {
	for {
		select {
		case <-p.wakeUp:
			return
		case <-p.closed:
			return
		case <-p.event:
			if p.over() {
				return
			}
		}
	}
}

// over reports whether what Arm named has come.
func (p *wireParker) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return clock.Now() >= p.until || p.want.Rx && len(p.w.inbox) > 0 || p.want.Tx && p.room
}

// Disarm ends the armed state. See link.Queue.
func (p *wireParker) Disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.until, p.want = clock.Never, link.Interest{}
}

// Wake makes a current or the next Park return. See link.Queue.
func (p *wireParker) Wake() { poke(p.wakeUp) }

func (p *wireParker) close() {
	close(p.closed)
	p.timer.Stop()
	p.writer.close()
}

// socketDup is a further descriptor of a socket, with a lock of its own in Go's
// poller: who waits on one does not hold up who writes to another.
type socketDup struct {
	f   *os.File
	raw syscall.RawConn
}

func dupSocket(c *net.UnixConn) (*socketDup, error) {
	f, err := c.File()
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &socketDup{f, raw}, nil
}

func (d *socketDup) close() { d.f.Close() }
