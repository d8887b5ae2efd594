package linktest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// patience ends a test that would hang: no test succeeds by it.
const patience = 20 * time.Second

// bench is a pair under test, with what sends and receives on it.
type bench struct {
	*testing.T
	Pair
	open   func(*testing.T) Pair // another pair
	a, b   *station
	random *rand.Rand
}

// station is one link of the pair with the path to the other.
type station struct {
	t     *testing.T
	name  string
	q     link.Queue
	path  wire.Path
	pass  func() bool
	check wire.Verifier
	slot  link.Slot
	rx    [64]link.Rx

	got, want int // packets of the recv under way, for messages
}

func newBench(t *testing.T, open func(*testing.T) Pair) *bench {
	p := open(t)
	b := &bench{T: t, Pair: p, open: open}
	b.random = rand.New(rand.NewPCG(testenv.Seed(t), 0))
	t.Cleanup(func() {
		b.noError(p.A.Close(), "Close of link A")
		b.noError(p.B.Close(), "Close of link B")
	})
	b.a, b.b = b.station("A", p.A, p.B), b.station("B", p.B, p.A)
	return b
}

func (b *bench) station(name string, from, to link.Link) *station {
	s := &station{t: b.T, name: name, q: from.Queue(), pass: b.Pass}
	s.path = b.pathBetween(from, to)
	b.noError(from.Resolve(&s.path), "Resolve")
	s.path.Prepare()
	return s
}

// pathBetween is a path not yet resolved.
func (b *bench) pathBetween(from, to link.Link) wire.Path {
	return wire.Path{Src: from.Addrs()[0], Dst: to.Addrs()[0], SrcPort: 0xc000 | uint16(b.random.IntN(0x4000))}
}

func (b *bench) noError(err error, what string) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// window is how many packets may be on their way.
func (b *bench) window() int {
	if b.Window == 0 {
		return 1 << 20
	}
	return b.Window
}

// look is lookInto all of s.rx.
func (s *station) look() (frames int) {
	s.t.Helper()
	return s.lookInto(len(s.rx))
}

// lookInto receives at most n frames, and if there is nothing, sleeps once as the
// engine does: after Arm it looks once more. It returns the number of entries set
// in s.rx.
func (s *station) lookInto(n int) (frames int) {
	s.t.Helper()
	if frames = s.q.Recv(s.rx[:n]); frames > 0 {
		return frames
	}
	s.sleep(link.Interest{Rx: true}, func() bool {
		frames = s.q.Recv(s.rx[:n])
		return frames > 0
	})
	return frames
}

// sleep lets time pass until something of interest may have happened, unless
// lookAgain finds it.
func (s *station) sleep(i link.Interest, lookAgain func() bool) {
	s.t.Helper()
	if s.pass != nil {
		if !s.pass() {
			s.t.Fatalf("link %s: nothing is left to happen after %d of %d packets", s.name, s.got, s.want)
		}
		return
	}
	end := s.q.Now().Add(patience)
	s.q.Arm(end, i)
	if !lookAgain() {
		s.q.Park()
	}
	s.q.Disarm()
	if s.q.Now() >= end {
		s.t.Fatalf("link %s: nothing happened for %v after %d of %d packets", s.name, patience, s.got, s.want)
	}
}
