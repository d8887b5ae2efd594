package recoverypage

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
)

// What is done in every case.
const (
	Message   = 1 << 20 // bytes of a WRITE
	Depth     = 16      // WRITEs under way
	Messages  = 64      // WRITEs in all
	Bandwidth = 10e9    // of both links, bits per second
)

// timeLimit ends a case that does not get on, in virtual time.
const timeLimit = clock.Time(time.Hour)

// Case is one measurement.
type Case struct {
	PathMTU int           // bytes
	RTT     time.Duration // without waiting and serialisation
	Loss    float64       // of frames, in each direction
	GoBackN bool          // of both ends
	Seed    uint64
}

// Result is what a case came to.
type Result struct {
	Case
	Elapsed       time.Duration // in virtual time
	Sent          uint64        // packets of the writing end
	Retransmitted uint64        // of those
	Timeouts      uint64        // acknowledgement timeouts
}

// Goodput is the written bytes per second.
func (r Result) Goodput() float64 { return Message * Messages / r.Elapsed.Seconds() }

// Measure runs a case.
func Measure(c Case) (r Result, err error) {
	w := simnet.New(c.Seed)
	w.Faults.Add(simnet.Randomly(simnet.Match{}, simnet.Random{Loss: c.Loss}))
	var writer, target end
	if err := errors.Join(writer.open(w, c, "writer", "10.0.0.1"), target.open(w, c, "target", "10.0.0.2")); err != nil {
		return r, err
	}
	if err := errors.Join(writer.connect(&target, c), target.connect(&writer, c)); err != nil {
		return r, err
	}
	err = w.RunUntil(func() bool { return writer.write(&target) }, timeLimit)
	s := writer.qp.Stats()
	r = Result{c, time.Duration(w.Now()), s.PacketsSent, s.Retransmitted, s.Timeouts}
	return r, errors.Join(err, writer.failure, writer.dev.Close(), target.dev.Close())
}

// end is one of the two sides.
type end struct {
	dev          *roce.Device
	cq           *roce.CQ
	qp           *roce.QP
	mr           *roce.MR
	posted, done int
	failure      error
}

func (e *end) open(w *simnet.World, c Case, name, addr string) error {
	l := w.Link(name, netip.MustParseAddr(addr), simnet.MTU(9000), simnet.Latency(c.RTT/4), simnet.Bandwidth(Bandwidth),
		simnet.Queue(8192), simnet.Buffer(64<<20))
	var err error
	if e.dev, err = roce.Open(l, roce.Manual()); err != nil {
		return err
	}
	w.Attach(e.dev)
	pd, err := e.dev.AllocPD()
	if err != nil {
		return err
	}
	if e.cq, err = e.dev.CreateCQ(2 * Depth); err != nil {
		return err
	}
	if e.mr, err = pd.RegMR(make([]byte, Message), roce.AccessLocalWrite|roce.AccessRemoteWrite); err != nil {
		return err
	}
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, GoBackN: c.GoBackN})
	return err
}

func (e *end) connect(peer *end, c Case) error {
	return e.qp.Connect(peer.qp.Info(), roce.WithPathMTU(c.PathMTU))
}

// write posts and polls, and reports whether all is done.
func (e *end) write(to *end) bool {
	e.reap()
	r := to.mr.Remote()
	wr := roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled, SGE: e.mr.SGE(0, Message), RemoteAddr: r.Addr, RKey: r.Key}
	for e.failure == nil && e.posted < Messages && e.posted-e.done < Depth {
		_, e.failure = e.qp.PostSend(wr)
		e.posted++
	}
	return e.done == Messages || e.failure != nil
}

func (e *end) reap() {
	var wcs [Depth]roce.WC
	for _, wc := range wcs[:e.cq.Poll(wcs[:])] {
		if err := wc.Err(); err != nil {
			e.failure = fmt.Errorf("WRITE %d: %w", e.done, err)
			return
		}
		e.done++
	}
}
