package pingpong

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link/auto"
	"github.com/rocinante-rdma/roce/wire"
)

// end is one end of a connection: a device of its own with one queue pair.
type end struct {
	o    *Options
	role role
	link string // what it is
	dev  *roce.Device
	cq   *roce.CQ
	qp   *roce.QP

	// The server has one buffer for both, so that it returns what it gets; the
	// client has two, so that it can compare.
	send, recv *roce.MR

	posted int // receives
	remote Endpoint
}

// role is which end this is.
type role string

const (
	client role = "client"
	server role = "server"
)

// openEnd opens a device on the address, with a queue pair in INIT that has its
// receives posted.
func openEnd(o *Options, r role, addr netip.Addr) (*end, error) {
	lnk, err := o.Open(addr)
	if err != nil {
		return nil, err
	}
	e := &end{o: o, role: r, link: auto.Describe(lnk)}
	var opts []roce.Option
	if o.Recorder != nil {
		opts = append(opts, roce.WithTap(o.Recorder.Device(string(r)+", "+e.link)))
	}
	if e.dev, err = roce.Open(lnk, opts...); err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		e.dev.Close()
		return nil, err
	}
	return e, nil
}

func (e *end) prepare() error {
	pd, err := e.dev.AllocPD()
	if err != nil {
		return err
	}
	if err := e.register(pd); err != nil {
		return err
	}
	if e.cq, err = e.dev.CreateCQ(e.o.RxDepth + 1); err != nil {
		return err
	}
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: 1, RecvDepth: e.o.RxDepth, MaxSGE: 1, DCQCN: e.o.DCQCN})
	if err != nil {
		return err
	}
	init := roce.QPAttr{State: roce.StateInit, PKey: bth.DefaultPKey}
	if err := e.qp.Modify(init, roce.AttrState|roce.AttrPKey|roce.AttrAccess); err != nil {
		return err
	}
	return e.refill()
}

// register makes the buffers and registers them.
func (e *end) register(pd *roce.PD) (err error) {
	region := func() (*roce.MR, error) {
		b := make([]byte, max(e.o.Size, 1)) // there is no region of no bytes
		fillPlain(b)
		return pd.RegMR(b, roce.AccessLocalWrite)
	}
	if e.recv, err = region(); err != nil {
		return err
	}
	e.send = e.recv
	if e.role == client {
		e.send, err = region()
	}
	return err
}

// refill posts receives up to the depth.
func (e *end) refill() error {
	for e.posted < e.o.RxDepth {
		if _, err := e.qp.PostRecv(roce.RecvWR{ID: recvID, SGE: e.recv.SGE(0, e.o.Size)}); err != nil {
			return fmt.Errorf("post receive %d of %d: %w", e.posted+1, e.o.RxDepth, err)
		}
		e.posted++
	}
	return nil
}

// local is what the other end has to know of this one.
func (e *end) local() Endpoint {
	i := e.qp.Info()
	return Endpoint{QPN: i.QPN, PSN: bth.PSN(i.PSN), GID: wire.GIDOf(i.GID)}
}

// connect connects the queue pair, with the attributes that the tool sets.
func (e *end) connect(remote Endpoint) error {
	e.remote = remote
	return e.qp.Connect(
		roce.Info{GID: remote.GID.Addr(), QPN: remote.QPN, PSN: uint32(remote.PSN)},
		roce.WithPathMTU(e.o.MTU), roce.WithReadLimits(1, 1),
		roce.WithMinRNRTimer(12), roce.WithRetry(cmp.Or(e.o.timeout, 14), 7, 7), roce.WithServiceLevel(e.o.ServiceLevel),
	)
}

func (e *end) close() error { return e.dev.Close() }
