package congestionlab

import (
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce"
)

// flow is the data of one sender.
type flow struct {
	number  int // from 1
	start   time.Duration
	station *station

	requester *roce.QP // that of the sender if it WRITEs, that of the receiver if it READs
	sender    *roce.QP // that which is limited
	cq        *roce.CQ // the requester's
	wr        roce.SendWR
	done      []roce.WC

	posted, completed int // messages
	tally
}

// String is the flow's name, and that of its sender's link.
func (f *flow) String() string { return fmt.Sprintf("flow %d", f.number) }

// connect joins the flow's sender to the receiver.
func (f *flow) connect(l *lab) error {
	here, hereCQ, err := l.newQP(f.station)
	if err != nil {
		return err
	}
	there, thereCQ, err := l.newQP(l.receiver)
	if err != nil {
		return err
	}
	retry := roce.WithRetry(uint8(l.AckTimeout), roce.DefaultRetryCount, roce.DefaultRNRRetry)
	for _, ends := range [][2]*roce.QP{{here, there}, {there, here}} {
		if err := ends[0].Connect(ends[1].Info(), roce.WithPathMTU(l.MTU), retry); err != nil {
			return err
		}
	}
	f.sender, f.done = here, make([]roce.WC, l.Depth)
	f.requester, f.cq, f.wr = here, hereCQ, request(roce.OpWrite, f.station, l.receiver, l.Message)
	if l.Operation == Read {
		f.requester, f.cq, f.wr = there, thereCQ, request(roce.OpRead, l.receiver, f.station, l.Message)
	}
	return nil
}

// newQP makes a queue pair with a completion queue of its own.
func (l *lab) newQP(st *station) (*roce.QP, *roce.CQ, error) {
	cq, err := st.dev.CreateCQ(l.Depth)
	if err != nil {
		return nil, nil, err
	}
	qp, err := st.pd.CreateQP(roce.QPConfig{SendCQ: cq, SendDepth: l.Depth, DCQCN: l.dcqcn()})
	return qp, cq, err
}

// dcqcn is the control of both ends: the receiver's end notifies, the sender's reacts.
func (l *lab) dcqcn() *roce.DCQCN {
	if !l.DCQCN {
		return nil
	}
	return &roce.DCQCN{Params: l.Params, LineRate: l.Rate, SendCNP: true, CNPInterval: l.CNPInterval}
}

// request is a message between the memories of two stations.
func request(op roce.Op, from, to *station, length int) roce.SendWR {
	r := to.mr.Remote()
	return roce.SendWR{Op: op, Flags: roce.Signaled, SGE: from.mr.SGE(0, length), RemoteAddr: r.Addr, RKey: r.Key}
}

// keepGoing takes the completions and has as many messages under way as there may be. It
// reports whether there was anything to do.
func (f *flow) keepGoing() (worked bool, err error) {
	n := f.cq.Poll(f.done)
	for i := range f.done[:n] {
		if err := f.done[i].Err(); err != nil {
			return false, fmt.Errorf("%v: message %d: %w", f, f.completed+i, err)
		}
	}
	f.completed += n
	for ; f.posted-f.completed < len(f.done); f.posted++ {
		if _, err := f.requester.PostSend(f.wr); err != nil {
			return false, fmt.Errorf("%v: message %d: %w", f, f.posted, err)
		}
		worked = true
	}
	return worked || n > 0, nil
}

// limit is what the flow may send at present.
func (f *flow) limit(line float64) (rate, target, alpha float64) {
	r := f.sender.Rate()
	if r.BitsPerSec == 0 { // not limited
		return line, line, 0
	}
	return r.BitsPerSec, r.Target, r.Alpha
}
