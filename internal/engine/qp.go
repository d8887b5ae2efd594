package engine

import (
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// inlineLimit is how many work requests may be under way for a poster to transmit
// inline: with more, an acknowledgement is due that runs a turn anyway, and one
// burst for many is cheaper than many bursts.
const inlineLimit = 16

// QPConfig is what a queue pair is made of.
type QPConfig struct {
	PD                   mr.PD
	SendCQ, RecvCQ       *CQ
	SendDepth, RecvDepth int
	MaxSGE, MaxInline    int
	SRQ                  *SRQ   // takes the place of a receive queue, and of RecvDepth
	GoBackN              bool   // neither hold requests behind a gap, nor ask whether the peer does
	Credits              bool   // acknowledgements tell the peer how many receives are posted
	DCQCN                *DCQCN // nil: off
	// Happened is told of the queue pair's events; see [Shard.tellEvents].
	Happened func(transport.Event)
}

// QP is one reliable connection of a shard: its rings, its machine, and what the
// shard's lists need. Post methods are safe for concurrent use, and so are the
// control methods, which take the shard's lock.
type QP struct {
	shard          *Shard
	qpn            uint32
	psn            atomic.Uint32 // of the first request, a bth.PSN
	pd             mr.PD
	sq             *qp.SendQueue
	rq             *qp.RecvQueue // nil: receives are taken from srq
	srq            *SRQ
	sendCQ, recvCQ *CQ
	happened       func(transport.Event)

	// Under the shard's lock.
	machine   *rc.Machine
	paths     Paths
	dcqcn     *dcqcn // nil: off
	pkey      uint16
	destroyed bool
	touched   bool   // on Shard.touched
	sending   queued // in Shard.ready or Shard.acking
	answering queued // in Shard.asked
	deadline         // in Shard.deadlines

	bell  bell          // on Shard.bells
	state atomic.Uint32 // the machine's, as of the last settle
	busy  atomic.Bool   // so much is under way that posters need not transmit
}

// NewQP makes a queue pair in RESET. The error is [ErrNoQPN].
func (s *Shard) NewQP(cfg QPConfig) (*QP, error) {
	q := &QP{
		shard: s, pd: cfg.PD, sendCQ: cfg.SendCQ, recvCQ: cfg.RecvCQ, srq: cfg.SRQ, happened: cfg.Happened,
		sq: qp.NewSendQueue(cfg.SendDepth, cfg.MaxSGE, cfg.MaxInline),
	}
	machine := rc.Config{PD: q.pd, MaxSGE: cfg.MaxSGE, Credits: cfg.Credits, GoBackN: cfg.GoBackN}
	if !cfg.GoBackN {
		machine.Reorder = s.reorder
	}
	if q.srq != nil {
		machine.SharedRecv = q.srq.queue
	} else {
		q.rq = qp.NewRecvQueue(cfg.RecvDepth, cfg.MaxSGE)
	}
	q.due = clock.Never
	q.sending.qp, q.answering.qp = q, q
	var cc congestion.Controller = new(congestion.Window)
	if cfg.DCQCN != nil {
		cc, q.dcqcn = cfg.DCQCN.Controller, newDCQCN(q, cfg.DCQCN)
	}
	s.mu.Lock()
	defer s.unlock()
	if err := s.demux.add(q); err != nil {
		return nil, err
	}
	q.psn.Store(uint32(s.demux.randomPSN()))
	machine.QPN = q.qpn
	q.machine = rc.New(machine, q.sq, q.rq, s.memory, cc, q)
	q.sendCQ.users[q] = struct{}{}
	q.recvCQ.users[q] = struct{}{}
	return q, nil
}

// QPN is the queue pair's number.
func (q *QP) QPN() uint32 { return q.qpn }

// InitialPSN is the random PSN drawn for the queue pair's first request, another one for
// each connection.
func (q *QP) InitialPSN() bth.PSN { return bth.PSN(q.psn.Load()) }

// State is the state as of the last turn.
func (q *QP) State() qp.State { return qp.State(q.state.Load()) }

// SendDone implements rc.Sink.
func (q *QP) SendDone(wc *cq.WC) {
	q.shard.counters.SendDone[wc.Status]++
	q.shard.complete(q.sendCQ, wc, false)
}

// RecvDone implements rc.Sink.
func (q *QP) RecvDone(wc *cq.WC, solicited bool) {
	q.shard.counters.RecvDone[wc.Status]++
	q.shard.complete(q.recvCQ, wc, solicited)
}

// Happened implements rc.Sink.
func (q *QP) Happened(e transport.Event) {
	if e == transport.EventLimitReached {
		q.shard.happen(q.srq.happened, e)
	} else {
		q.shard.happen(q.happened, e)
	}
}

// ReadLocal implements qp.LocalReader.
func (q *QP) ReadLocal(s qp.SGE) ([]byte, bool) {
	span, fault := q.shard.memory.Resolve(q.pd, s.LKey, s.Addr, s.Len, 0)
	return span.Bytes, fault == mr.NoFault
}

// PostSend appends a work request; [QP.Ring] makes the shard look at it.
func (q *QP) PostSend(wr *qp.SendWR) error { return q.sq.Post(wr, q) }

// Ring is the doorbell of the send queue: the work posted before is sent, at once
// by the caller if that is cheapest.
func (q *QP) Ring() {
	q.shard.ring(q)
	q.shard.posted(!q.busy.Load())
}

// PostRecv appends a receive to the queue pair's own queue. It needs no doorbell: the machine looks for receives
// when it needs one. Only in ERR they are to be flushed.
func (q *QP) PostRecv(wr *qp.RecvWR) error {
	if err := q.rq.Post(wr); err != nil {
		return err
	}
	if q.State() == qp.StateErr {
		q.Ring()
	}
	return nil
}

// control runs f, which drives the machine, under the lock, and draws the
// consequences. What is owed is sent before: an application that closes a queue
// pair once it has its message must not take the acknowledgement with it.
func (q *QP) control(what string, f func() error) error {
	s := q.shard
	s.mu.Lock()
	defer s.unlock()
	if q.destroyed {
		return fmt.Errorf("engine: %s QP 0x%06x: %w", what, q.qpn, net.ErrClosed)
	}
	s.sendTurn()
	if err := f(); err != nil {
		return err
	}
	s.settle()
	return nil
}

// Modify changes attributes and state; see rc.Machine.Modify. to must be given when the
// mask has qp.MaskAV.
func (q *QP) Modify(a *qp.Attr, mask qp.Mask, to Paths) error {
	return q.control("modify", func() error {
		from := q.machine.State()
		if err := q.machine.Modify(q.shard.now, a, mask); err != nil {
			return err
		}
		if q.machine.State() == qp.StateReset {
			q.shard.forget(q.dcqcn)
			if hasSent(from) {
				q.psn.Store(uint32(q.shard.demux.randomPSN()))
			}
		}
		if mask&qp.MaskAV != 0 {
			q.paths = to
		}
		if mask&qp.MaskPKey != 0 {
			q.pkey = a.PKey
		}
		q.shard.touch(q)
		return nil
	})
}

// hasSent reports whether a queue pair in this state may have used PSNs. It must not use
// them again: its number stays, so late packets of the old connection would pass for
// packets of the next.
func hasSent(s qp.State) bool { return s == qp.StateRTS || s == qp.StateSQD || s == qp.StateErr }

// Fail takes the queue pair to ERR, which flushes its work. When it returns the
// queue pair uses no memory of the application any more.
func (q *QP) Fail() {
	_ = q.control("fail", func() error { q.shard.fail(q); return nil })
}

// Destroy takes the queue pair out of the shard. Work that has not completed never
// will; completions that are in a CQ stay there. When it returns the queue pair
// uses no memory of the application any more. Twice is harmless.
func (q *QP) Destroy() {
	_ = q.control("destroy", func() error {
		s := q.shard
		// Every state may go to RESET: this cannot fail.
		_ = q.machine.Modify(s.now, &qp.Attr{State: qp.StateReset}, qp.MaskState)
		q.state.Store(uint32(qp.StateReset))
		q.destroyed = true
		s.counters.QPs.Add(q.machine.Stats())
		s.demux.remove(q)
		s.deadlines.remove(q)
		s.forget(q.dcqcn)
		delete(q.sendCQ.users, q)
		delete(q.recvCQ.users, q)
		return nil
	})
}

// Snapshot is a queue pair's state at one moment.
type Snapshot struct {
	Attr    qp.Attr
	Stats   rc.Stats
	Failure rc.Failure
	Failed  bool // the queue pair went to ERR by itself; Failure says why
	Rate    congestion.Rate
}

// Snapshot returns the queue pair's present state.
func (q *QP) Snapshot() Snapshot {
	q.shard.mu.Lock()
	defer q.shard.unlock()
	failure, failed := q.machine.Failure()
	return Snapshot{q.machine.Attr(), q.machine.Stats(), failure, failed, q.rate()}
}
