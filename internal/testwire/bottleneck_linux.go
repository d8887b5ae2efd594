package testwire

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/pcap"
)

// BottleneckOptions says what a Bottleneck is.
type BottleneckOptions struct {
	netns.Options
	Senders int           // hosts that send through it
	Egress  EgressOptions // towards the receiver

	// Capture is where the beginnings of all RoCEv2 packets go that the switch forwards,
	// both ways, as they leave it, in pcap's format; nil: nowhere.
	Capture io.Writer
}

// snapLen is more than a CNP with all around it, and than the headers of any packet but a
// CM's.
const snapLen = 128

// Bottleneck is a switch between hosts, each in a namespace of its own, whose port
// towards one of them, the receiver, is too slow: the RoCEv2 packets to it pass an
// [Egress] in real time. Super-frames are cut into packets first, as network cards do.
// All else, what comes from the receiver among it, passes at once. Its methods are safe
// for concurrent use.
type Bottleneck struct {
	Senders  []*netns.Host // va, vb …, with the addresses of [netns.NewStar]
	Receiver *netns.Host   // the host after them

	star    *netns.Star
	ends    []*end // of the senders, then the receiver
	table   table
	capture *pcap.Writer // nil: none
	threads sync.WaitGroup

	mu     sync.Mutex
	egress *Egress
	filled sync.Cond // something waits in egress, or the bottleneck is closed
	closed bool
}

// NewBottleneck makes hosts that a switch joins.
func NewBottleneck(o BottleneckOptions) (*Bottleneck, error) {
	egress, err := NewEgress(o.Egress)
	if err != nil {
		return nil, err
	}
	var capture *pcap.Writer
	if o.Capture != nil {
		if capture, err = pcap.NewWriter(o.Capture, snapLen); err != nil {
			return nil, fmt.Errorf("testwire: begin a capture: %w", err)
		}
	}
	star, err := netns.NewStar(o.Senders+1, o.Options)
	if err != nil {
		return nil, err
	}
	b := &Bottleneck{
		Senders: star.Hosts[:o.Senders], Receiver: star.Hosts[o.Senders],
		star: star, egress: egress, capture: capture,
	}
	b.filled.L = &b.mu
	if b.ends, err = openEnds(star); err != nil {
		return nil, errors.Join(fmt.Errorf("put a switch in the middle: %w", err), star.Close())
	}
	for port := range b.ends {
		b.threads.Go(func() { b.forward(port) })
	}
	b.threads.Go(b.drain)
	return b, nil
}

// forward takes what comes in at a port to where it goes, until the bottleneck is closed.
func (b *Bottleneck) forward(port int) {
	in, out := make([]byte, maxMessage), make([]byte, maxMessage)
	var frames [][]byte
	for {
		m, err := b.ends[port].read(in)
		if err != nil {
			return
		}
		if len(m) < vnetLen {
			continue
		}
		var isPacket bool
		frames, isPacket = m.cut(frames[:0])
		for _, to := range b.table.route(port, len(b.ends), m.frame()) {
			switch {
			case !isPacket:
				b.ends[to].write(m)
			case to == len(b.Senders):
				b.queue(frames)
			default:
				b.send(to, frames, out)
			}
		}
	}
}

// queue puts packets for the receiver into the queue.
func (b *Bottleneck) queue(frames [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := clock.Now()
	for _, f := range frames {
		b.egress.Take(now, f)
	}
	b.filled.Signal()
}

// send sends packets out of a port. room is for one of them.
func (b *Bottleneck) send(port int, frames [][]byte, room []byte) {
	for _, f := range frames {
		if b.capture != nil {
			b.capture.Frame(time.Unix(0, int64(clock.Now())), f)
		}
		b.ends[port].writeFrame(f, room)
	}
}

// drain sends what waits for the receiver, each packet when its time has come, until the
// bottleneck is closed. Its thread is its own, to sleep for a packet's time: Go's timers
// take a millisecond.
func (b *Bottleneck) drain() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	room := make([]byte, maxMessage)
	var due [][]byte
	for {
		next, open := b.await()
		if !open {
			return
		}
		sleepUntil(next)
		due = b.due(due[:0])
		b.send(len(b.Senders), due, room)
	}
}

// await waits until there is a packet, and returns when it will have been sent; open is
// false once the bottleneck is closed.
func (b *Bottleneck) await() (next clock.Time, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.egress.Next() == clock.Never && !b.closed {
		b.filled.Wait()
	}
	return b.egress.Next(), !b.closed
}

// due takes the packets from the queue whose time has come.
func (b *Bottleneck) due(frames [][]byte) [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := clock.Now()
	for f, ok := b.egress.Leave(now); ok; f, ok = b.egress.Leave(now) {
		frames = append(frames, f)
	}
	return frames
}

// nap is the longest time to sleep without a look whether the bottleneck was closed.
const nap = 10 * time.Millisecond

// sleepUntil blocks the thread, not only the goroutine, until an instant, for a nap at
// most. It may return early.
func sleepUntil(t clock.Time) {
	if d := min(t.Sub(clock.Now()), nap); d > 0 {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // a signal ends it, which is as good
	}
}

// Counts returns what the port towards the receiver has done.
func (b *Bottleneck) Counts() EgressCounts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.egress.Counts()
}

// Close ends the bottleneck, what waits in it included, and lets go of the hosts. Its
// error is, besides, that frames were lost elsewhere than in the queue, or that the
// capture could not be written.
func (b *Bottleneck) Close() error {
	b.mu.Lock()
	b.closed = true
	b.filled.Signal()
	b.mu.Unlock()
	err := closeEnds(b.ends)
	b.threads.Wait()
	if b.capture != nil {
		err = errors.Join(err, b.capture.Close())
	}
	return errors.Join(err, b.star.Close())
}
