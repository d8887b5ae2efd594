package roce_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/simnet"
)

// linger is how long a device that has just answered stays to repeat the answer.
const linger = 150 * time.Millisecond

// newLoneSiege is a siege without bystander, of a device that runs by itself in a
// synctest bubble. The bubble finds out who hangs: when everybody waits for ever the test
// fails, and so it does when a goroutine is left at the end.
func newLoneSiege(t testing.TB, host ...simnet.LinkOption) *siege {
	t.Helper()
	w := simnet.New(1, simnet.RealTime())
	s := &siege{t: t, world: w, tally: new(tally)}
	e := &end{t: t}
	var err error
	e.dev, err = roce.Open(w.Link("host", hostAddr, host...))
	require.NoError(t, err)
	e.pd, err = e.dev.AllocPD()
	require.NoError(t, err)
	e.cq, err = e.dev.CreateCQ(256)
	require.NoError(t, err)
	e.mr, err = e.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(t, err)
	e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
	require.NoError(t, err)
	s.victim = e
	s.enemy, s.stranger = w.Link("enemy", enemyAddr), w.Link("stranger", strangerAddr)
	return s
}

// plague sends packets every 200 µs until it is told to stop.
func (s *siege) plague(done <-chan struct{}, packets ...packet) {
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
				fire(packets...)
				s.deafen()
			}
		}
	}()
}

// Close returns whatever the peer does or does not, and within the time that it lingers:
// called twice at once, with work of every kind under way, while others post and wait.
// What they get is a flushed completion or net.ErrClosed.
func TestCloseAlwaysReturns(t *testing.T) {
	slow := []simnet.LinkOption{simnet.Bandwidth(1000), simnet.Queue(4)} // a packet takes seconds
	for name, c := range map[string]struct {
		link    []simnet.LinkOption
		connect []roce.ConnectOption
		before  func(s *siege, done <-chan struct{})
	}{
		"a silent peer":             {},
		"a silent peer, no timeout": {connect: []roce.ConnectOption{roce.WithRetry(0, 7, 7)}},
		"a full ring":               {link: slow},
		"a receiver that is never ready": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, s.answer(bth.RCAcknowledge, s.firstPSN(), bth.RNRNAK(0)))
		}},
		"a receiver that is never ready, soon": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, s.answer(bth.RCAcknowledge, s.firstPSN(), bth.RNRNAK(1)))
		}},
		"sequence NAKs": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, s.answer(bth.RCAcknowledge, s.firstPSN(), bth.NAKSequence))
		}},
		"CNPs": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, repeated(20, s.ask(bth.CNP, 0, bthtest.BECN))...)
		}},
		"duplicates": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, repeated(20, s.ask(bth.RCSendOnly, -1))...)
		}},
		"a replayed READ": {before: func(s *siege, done <-chan struct{}) {
			s.plague(done, s.ask(bth.RCReadRequest, 0, s.region(0, 16*siegeMTU)))
		}},
		"a replayed READ, a full ring": {link: slow, before: func(s *siege, done <-chan struct{}) {
			s.plague(done, s.ask(bth.RCReadRequest, 0, s.region(0, 16*siegeMTU)))
		}},
		"strangers": {before: func(s *siege, done <-chan struct{}) {
			p := s.ask(bth.RCSendOnly, 0)
			p.meta.Src = strangerAddr
			s.plague(done, repeated(20, p)...)
		}},
		"half a message": {before: func(s *siege, _ <-chan struct{}) {
			s.ask(bth.RCWriteFirst, 0, s.region(0, bufferSize), bthtest.Pattern(siegeMTU)).fire()
		}},
		"in SQD": {before: func(s *siege, _ <-chan struct{}) {
			s.victim.send(roce.SendWR{Op: roce.OpWrite})
			require.NoError(s.t, s.victim.qp.Modify(roce.QPAttr{State: roce.StateSQD, NotifyDrained: true}, roce.AttrState|roce.AttrNotifyDrained))
		}},
		"in ERR": {before: func(s *siege, _ <-chan struct{}) {
			s.ask(bth.RCWriteOnly, 0, bthtest.RETH(0, 1, 8), bthtest.Pattern(8)).fire()
		}},
	} {
		for what, end := range map[string]func(e *end) error{
			"the device":            func(e *end) error { return e.dev.Close() },
			"the queue pair and CQ": func(e *end) error { return errors.Join(e.qp.Close(), e.cq.Close()) },
		} {
			t.Run(name+", closing "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newLoneSiege(t, c.link...)
					s.connect(c.connect...)
					closed := make(chan struct{})
					if c.before != nil {
						c.before(s, closed)
					}
					var others sync.WaitGroup
					for range 2 {
						others.Go(s.poster)
						others.Go(s.waiter)
					}
					time.Sleep(20 * time.Millisecond)
					began := time.Now()
					for range 2 {
						others.Go(func() { require.NoError(t, end(s.victim)) })
					}
					others.Wait()
					require.LessOrEqual(t, time.Since(began), linger+time.Millisecond)
					close(closed)
					require.NoError(t, s.victim.dev.Close())
				})
			})
		}
	}
}

// poster posts work of every kind until that fails for good.
func (s *siege) poster() {
	ops := []roce.Op{roce.OpSend, roce.OpWrite, roce.OpRead, roce.OpFetchAdd, roce.OpWriteImm}
	for i := 0; ; i++ {
		wr := roce.SendWR{Op: ops[i%len(ops)], SGE: s.victim.mr.SGE(0, 8), Flags: roce.Signaled}
		_, err := s.victim.qp.PostSend(wr)
		var state *roce.StateError
		switch {
		case err == nil && s.victim.qp.State() == roce.StateErr, errors.Is(err, net.ErrClosed), errors.As(err, &state):
			return
		case err != nil && !errors.Is(err, roce.ErrQueueFull):
			s.t.Error(err)
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// waiter waits for completions until there are no more.
func (s *siege) waiter() {
	wcs := make([]roce.WC, 8)
	for {
		if _, err := s.victim.cq.Wait(context.Background(), wcs); err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.t.Error(err)
			}
			return
		}
	}
}

// A device is closed while everything that can be made of it is made, connected and
// closed: each call succeeds or says net.ErrClosed, and nothing is left at the end.
func TestCloseBesideCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLoneSiege(t)
		s.connect()
		done := make(chan struct{})
		s.plague(done, s.ask(bth.RCReadRequest, 0, s.region(0, siegeMTU)), s.ask(bth.RCSendOnly, 1))
		var makers sync.WaitGroup
		for range 4 {
			makers.Go(func() {
				for {
					if err := s.makeAll(); err != nil {
						require.ErrorIs(t, err, net.ErrClosed)
						return
					}
					time.Sleep(20 * time.Microsecond)
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		require.NoError(t, s.victim.dev.Close())
		makers.Wait()
		close(done)
		require.ErrorIs(t, s.makeAll(), net.ErrClosed)
	})
}

// makeAll makes one of everything and closes half of it.
func (s *siege) makeAll() error {
	pd, err := s.victim.dev.AllocPD()
	if err != nil {
		return err
	}
	cq, err := s.victim.dev.CreateCQ(8)
	if err != nil {
		return err
	}
	qp, err := pd.CreateQP(roce.QPConfig{SendCQ: cq})
	if err != nil {
		return err
	}
	region, err := pd.RegMR(make([]byte, 64), allRights)
	if err != nil {
		return err
	}
	if _, err := pd.AllocMW(); err != nil {
		return err
	}
	peer := roce.Info{GID: enemyAddr, QPN: enemyQPN, PSN: 1, MTU: siegeMTU, RdAtomic: 1}
	if err := qp.Connect(peer); err != nil {
		return err
	}
	if _, err := qp.PostSend(roce.SendWR{Op: roce.OpWrite, SGE: region.SGE(0, 64)}); err != nil {
		return err
	}
	return errors.Join(qp.Close(), region.Close(), cq.Close())
}
