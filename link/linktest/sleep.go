package linktest

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// rounds is how often the races are run: each round is a chance to lose a wake-up.
func rounds() int {
	switch {
	case testenv.Full():
		return 200_000
	case runtime.GOMAXPROCS(0) == 1:
		return 200 // while one goroutine spins, Go looks for who was woken every 10 ms only
	case testenv.Race:
		return 2_000
	}
	return 10_000
}

// park sleeps until the deadline at most and returns how the time then is.
func (s *station) park(until clock.Time, i link.Interest) clock.Time {
	s.q.Arm(until, i)
	s.q.Park()
	s.q.Disarm()
	return s.q.Now()
}

// parkAside parks in a goroutine of its own, which runs when parkAside returns; done
// tells that Park has returned.
func (s *station) parkAside() (done <-chan struct{}) {
	begun, returned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		close(begun)
		s.q.Park()
	}()
	<-begun
	return returned
}

// ends waits for a goroutine; one that hangs fails the test.
func (b *bench) ends(done <-chan struct{}, what string) {
	b.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		b.Fatalf("%s after %v", what, patience)
	}
}

// wakeBeforePark: a Wake before Park makes that Park return.
func wakeBeforePark(b *bench) {
	for range 100 {
		end := b.a.q.Now().Add(patience)
		b.a.q.Wake()
		if b.a.park(end, link.Interest{Rx: true}) >= end {
			b.Fatal("Park slept through a Wake that came before it")
		}
	}
}

// wakeDuringPark: another goroutine's Wake ends a Park.
func wakeDuringPark(b *bench) {
	end := b.a.q.Now().Add(patience)
	b.a.q.Arm(end, link.Interest{Rx: true})
	done := b.a.parkAside()
	b.a.q.Wake()
	<-done
	b.a.q.Disarm()
	if b.a.q.Now() >= end {
		b.Error("Park slept through a Wake")
	}
}

// deadline: Park returns when it has passed, and not before.
func deadline(b *bench) {
	for _, d := range []time.Duration{-time.Second, 0, 50 * time.Microsecond, 3 * time.Millisecond} {
		end := b.a.q.Now().Add(d)
		if now := b.a.park(end, link.Interest{Rx: true}); now < end {
			b.Errorf("armed until %v, Park returned at %v though nothing had happened", end, now)
		}
	}
}

// deadlineMovesForward: Arm with an earlier deadline shortens a Park under way.
func deadlineMovesForward(b *bench) {
	end := b.a.q.Now().Add(patience)
	b.a.q.Arm(end, link.Interest{Rx: true})
	done := b.a.parkAside()
	b.a.q.Arm(b.a.q.Now().Add(time.Millisecond), link.Interest{Rx: true})
	<-done
	b.a.q.Disarm()
	if b.a.q.Now() >= end {
		b.Error("Park slept until the first deadline")
	}
}

// frameEndsPark: a frame that arrives ends a Park without deadline.
func frameEndsPark(b *bench) {
	b.b.q.Arm(clock.Never, link.Interest{Rx: true})
	done := b.b.parkAside()
	p := b.packet(1, headLen, 100, 1)
	b.a.send(p, true)
	b.ends(done, "Park sleeps on though a frame was sent")
	b.b.q.Disarm()
	b.same("packet", b.b.recv(1)[0], p)
}

// noLostWake: one goroutine makes work and wakes, the other sleeps whenever it
// finds none. Every piece of work is found.
func noLostWake(b *bench) {
	var made, found atomic.Int64
	n := int64(rounds())
	go func() {
		for made.Load() < n {
			made.Add(1)
			b.a.q.Wake()
			for found.Load() < made.Load() && !b.Failed() {
				runtime.Gosched()
			}
		}
	}()
	for found.Load() < n {
		if found.Load() < made.Load() {
			found.Add(1)
			continue
		}
		end := b.a.q.Now().Add(patience)
		b.a.q.Arm(end, link.Interest{Rx: true})
		if found.Load() == made.Load() {
			b.a.q.Park()
		}
		b.a.q.Disarm()
		if b.a.q.Now() >= end {
			b.Fatalf("a Wake was lost after %d", found.Load())
		}
	}
	b.Logf("%d wake-ups", n)
}

// noLostFrame: two goroutines throw one packet to and fro and sleep in between, so
// that each arrival races with an Arm.
func noLostFrame(b *bench) {
	n := rounds() / 4
	ball := b.packet(0, headLen, 32, 1)
	other := make(chan error, 1)
	go func() {
		defer close(other)
		other <- b.b.juggle(ball, n, false)
	}()
	b.noError(errors.Join(b.a.juggle(ball, n, true), <-other), "juggling")
	b.Logf("%d round trips", n)
}

// juggle throws a packet and catches it, or first catches and then throws, n times.
func (s *station) juggle(ball *packet, n int, serve bool) error {
	var got atomic.Int64
	for i := range n {
		if serve {
			s.send(ball, true)
		}
		if err := s.catch(&got); err != nil {
			return fmt.Errorf("throw %d: %w", i, err)
		}
		if !serve {
			s.send(ball, true)
		}
	}
	return nil
}

// catch receives one frame or several, sleeping as often as needed, and adds their
// packets to found.
func (s *station) catch(found *atomic.Int64) error {
	end := s.q.Now().Add(patience)
	frames := s.q.Recv(s.rx[:])
	for frames == 0 {
		s.q.Arm(end, link.Interest{Rx: true})
		if frames = s.q.Recv(s.rx[:]); frames == 0 {
			s.q.Park()
			frames = s.q.Recv(s.rx[:])
		}
		s.q.Disarm()
		if frames == 0 && s.q.Now() >= end {
			return fmt.Errorf("link %s slept for %v though a packet was on its way", s.name, patience)
		}
	}
	for i := range s.rx[:frames] {
		eachPacket(&s.rx[i], func(int, [2][]byte) { found.Add(1) })
	}
	s.q.Release()
	return nil
}

// closeEndsPark: Close makes a Park under way return.
func closeEndsPark(b *bench) {
	b.a.q.Arm(clock.Never, link.Interest{Rx: true})
	done := b.a.parkAside()
	b.noError(b.A.Close(), "Close")
	b.ends(done, "Park sleeps on though the link was closed")
	b.noError(b.A.Close(), "second Close")
}
