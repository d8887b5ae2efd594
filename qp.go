package roce

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
)

// QPType is the transport service of a queue pair [ibv_qp_type].
type QPType uint8

// RC is the reliable connection [IBV_QPT_RC].
const RC QPType = 0

// Defaults of [QPConfig].
const (
	DefaultDepth     = 64
	DefaultMaxSGE    = 4
	DefaultMaxInline = 128 // bytes
)

// QPConfig says what a queue pair is made of [ibv_qp_init_attr].
type QPConfig struct {
	Type      QPType
	SendCQ    *CQ    // required
	RecvCQ    *CQ    // nil: SendCQ
	SRQ       *SRQ   // where receives are taken from; nil: from a queue of its own
	SendDepth int    // work requests, 0: 64
	RecvDepth int    // work requests, 0: 64; means nothing with an SRQ
	MaxSGE    int    // pieces per work request, 0: 4
	MaxInline int    // bytes of inline data per work request, 0: 128
	Access    Access // what peers may do at all, 0: what the regions permit
	GIDIndex  int    // the address to use, an index as of [Device.GID]

	// Credits is end-to-end flow control (IBTA vol. 1, 9.7.7.2): every acknowledgement
	// tells the peer how many receives are posted here, and we send one message and
	// wait for what the peer's first acknowledgement tells. The default is the
	// acknowledgement that tells nothing, as Linux's rdma_rxe always sends it: then a
	// message without a receive costs an RNR NAK and a wait. Credits that a peer
	// tells of are obeyed either way. Receives of an SRQ are not told.
	Credits bool

	// DCQCN is congestion control by ECN, off if nil: see [DCQCN].
	DCQCN *DCQCN

	// GoBackN is for comparison and teaching. Normally a request that arrives behind a
	// lost one is kept until that has been sent again, in up to 8 MiB per device; and a
	// peer that is found to keep requests too is sent again only what was lost. With
	// GoBackN the queue pair does neither: what follows a lost packet is dropped, and
	// sent again, as most adapters do.
	GoBackN bool
}

// QP is a queue pair: one end of a connection. All methods are safe for concurrent
// use; work of several goroutines is posted in some order.
type QP struct {
	pd     *PD
	cfg    QPConfig
	qp     *engine.QP
	addr   netip.Addr
	closed atomic.Bool
}

// CreateQP makes a queue pair in RESET [ibv_create_qp].
func (p *PD) CreateQP(cfg QPConfig) (*QP, error) {
	cfg = cfg.withDefaults()
	if d := cfg.DCQCN; d != nil {
		own := *d // the caller may change d
		cfg.DCQCN = &own
	}
	if err := p.check(cfg); err != nil {
		return nil, fmt.Errorf("roce: create a QP: %w", err)
	}
	dcqcn, err := cfg.DCQCN.control(p.dev.link)
	if err != nil {
		return nil, fmt.Errorf("roce: create a QP: %w", err)
	}
	q := &QP{pd: p, cfg: cfg, addr: p.dev.link.Addrs()[cfg.GIDIndex]}
	q.qp, err = p.dev.shard.NewQP(engine.QPConfig{
		PD: p.id, SendCQ: cfg.SendCQ.cq, RecvCQ: cfg.RecvCQ.cq, SRQ: cfg.SRQ.engine(),
		SendDepth: cfg.SendDepth, RecvDepth: cfg.RecvDepth, MaxSGE: cfg.MaxSGE, MaxInline: cfg.MaxInline,
		Credits: cfg.Credits, GoBackN: cfg.GoBackN, DCQCN: dcqcn,
		Happened: func(k EventKind) { p.dev.events.tell(Event{Kind: k, QP: q}) },
	})
	if err != nil {
		return nil, fmt.Errorf("roce: %w", err)
	}
	err = p.adopt("create a QP", func() error {
		if cfg.SendCQ.closed || cfg.RecvCQ.closed {
			return fmt.Errorf("roce: create a QP: its CQ: %w", net.ErrClosed)
		}
		if cfg.SRQ != nil {
			if cfg.SRQ.closed.Load() {
				return fmt.Errorf("roce: create a QP: its SRQ: %w", net.ErrClosed)
			}
			cfg.SRQ.users[q] = struct{}{}
		}
		p.qps[q] = struct{}{}
		cfg.SendCQ.users[q] = struct{}{}
		cfg.RecvCQ.users[q] = struct{}{}
		return nil
	})
	if err != nil {
		q.qp.Destroy()
		return nil, err
	}
	return q, nil
}

func (c QPConfig) withDefaults() QPConfig {
	setDefault(&c.SendDepth, DefaultDepth)
	setDefault(&c.RecvDepth, DefaultDepth)
	setDefault(&c.MaxSGE, DefaultMaxSGE)
	setDefault(&c.MaxInline, DefaultMaxInline)
	if c.RecvCQ == nil {
		c.RecvCQ = c.SendCQ
	}
	if c.Access == 0 {
		c.Access = AccessRemoteWrite | AccessRemoteRead | AccessRemoteAtomic
	}
	return c
}

// setDefault sets what was left out.
func setDefault(v *int, d int) {
	if *v == 0 {
		*v = d
	}
}

func (p *PD) check(c QPConfig) error {
	if c.Type != RC {
		return fmt.Errorf("type %d is not offered; use RC", c.Type)
	}
	if c.SendCQ == nil {
		return fmt.Errorf("SendCQ is missing")
	}
	if c.SendCQ.dev != p.dev || c.RecvCQ.dev != p.dev {
		return fmt.Errorf("SendCQ and RecvCQ must be of the PD's device")
	}
	if c.SRQ != nil && c.SRQ.pd != p {
		return fmt.Errorf("%s must be of the same PD", c.SRQ)
	}
	err := checkLimits(
		limit{"SendDepth", c.SendDepth, maxQueueDepth}, limit{"RecvDepth", c.RecvDepth, maxQueueDepth},
		limit{"MaxSGE", c.MaxSGE, link.MaxSGE}, limit{"MaxInline", c.MaxInline, maxInline},
	)
	if err != nil {
		return err
	}
	_, err = p.dev.GID(c.GIDIndex)
	return err
}

// limit is the largest value that a field may have.
type limit struct {
	field      string
	value, max int
}

func checkLimits(limits ...limit) error {
	for _, l := range limits {
		if l.value < 1 || l.value > l.max {
			return fmt.Errorf("%s %d is not between 1 and %d", l.field, l.value, l.max)
		}
	}
	return nil
}

// QPN is the queue pair's number [qp_num].
func (q *QP) QPN() uint32 { return q.qp.QPN() }

// String names the queue pair in messages.
func (q *QP) String() string { return fmt.Sprintf("QP 0x%06x", q.QPN()) }

// PD is the queue pair's protection domain.
func (q *QP) PD() *PD { return q.pd }

// State is the queue pair's state.
func (q *QP) State() QPState { return q.qp.State() }

// Attr returns the attributes, the state among them [ibv_query_qp].
func (q *QP) Attr() QPAttr { return q.qp.Snapshot().Attr }

// Stats returns the queue pair's counters.
func (q *QP) Stats() QPStats { return q.qp.Snapshot().Stats }

// PostSend appends work to the send queue and starts it. It returns how many of
// wrs were posted: n < len(wrs) if wrs[n] failed, for the reason err, which is
// [ErrQueueFull], a *[WRError], a *[StateError], or matches net.ErrClosed. The
// requests are copied; the memory that they name belongs to the device until the
// work completes, unless it is Inline [ibv_post_send].
func (q *QP) PostSend(wrs ...SendWR) (n int, err error) {
	if q.closed.Load() {
		return 0, q.closedErr("post a send")
	}
	for n = range wrs {
		if err = q.qp.PostSend(&wrs[n]); err != nil {
			err = fmt.Errorf("roce: %s: %w", q, err)
			break
		}
	}
	if err == nil {
		n = len(wrs)
	}
	if n > 0 {
		q.qp.Ring()
	}
	return n, err
}

// PostRecv appends receives, in the order in which messages will use them. See
// [QP.PostSend] for the result. It is an error if the queue pair has an SRQ
// [ibv_post_recv].
func (q *QP) PostRecv(wrs ...RecvWR) (n int, err error) {
	if q.closed.Load() {
		return 0, q.closedErr("post a receive")
	}
	if q.cfg.SRQ != nil {
		return 0, fmt.Errorf("roce: post a receive on %s: it takes its receives from %s: post them there", q, q.cfg.SRQ)
	}
	for n = range wrs {
		if err = q.qp.PostRecv(&wrs[n]); err != nil {
			return n, fmt.Errorf("roce: %s: %w", q, err)
		}
	}
	return len(wrs), nil
}

func (q *QP) closedErr(what string) error {
	return fmt.Errorf("roce: %s on %s: %w", what, q, net.ErrClosed)
}

// Modify changes attributes and state. The error matches *[AttrError],
// *[StateError] or net.ErrClosed; then nothing was changed
// [ibv_modify_qp].
func (q *QP) Modify(attr QPAttr, mask QPAttrMask) error {
	var paths engine.Paths
	if mask&AttrAV != 0 {
		if err := qp.CheckModify(q.State(), &attr, mask); err != nil {
			return fmt.Errorf("roce: %s: %w", q, err)
		}
		if mask&AttrDestQPN == 0 { // only the path to the same peer changes
			attr.DestQPN = q.Attr().DestQPN
		}
		var err error
		if paths, err = q.resolve(&attr); err != nil {
			return err
		}
	}
	if err := q.qp.Modify(&attr, mask, paths); err != nil {
		return fmt.Errorf("roce: %s: %w", q, err)
	}
	return nil
}

// Close destroys the queue pair. Work that has not completed never will; to see
// it flushed, take the queue pair to ERR first. When Close returns no memory of it
// is used any more, and windows that were bound to it are not bound. Closing again
// does nothing [ibv_destroy_qp].
func (q *QP) Close() error {
	q.closed.Store(true)
	q.qp.Destroy()
	d := q.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(q.pd.qps, q)
	q.pd.release(q)
	for _, c := range slices.Compact([]*CQ{q.cfg.SendCQ, q.cfg.RecvCQ}) {
		delete(c.users, q)
	}
	if q.cfg.SRQ != nil {
		delete(q.cfg.SRQ.users, q)
	}
	return nil
}

// fail takes the queue pair to ERR, so that its work is flushed.
func (q *QP) fail() { q.qp.Fail() }
