package roce

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/link"
)

// SRQConfig says what a shared receive queue is made of [ibv_srq_init_attr].
type SRQConfig struct {
	Depth  int // receives, 0: 64
	MaxSGE int // pieces per receive, 0: 4
}

// SRQ is a receive queue that queue pairs share: any message of theirs uses the
// oldest receive. All methods are safe for concurrent use.
//
// A queue pair that goes to ERR completes the one receive that a message of its own
// was using; the rest stays for the others. [EventLastWQE] says that it has, and
// that it takes no more: close it after that.
type SRQ struct {
	pd     *PD
	id     int
	cfg    SRQConfig
	srq    *engine.SRQ
	closed atomic.Bool

	// Under dev.mu.
	users map[*QP]struct{}
}

// CreateSRQ makes a shared receive queue, for queue pairs of the same domain
// [ibv_create_srq].
func (p *PD) CreateSRQ(cfg SRQConfig) (*SRQ, error) {
	setDefault(&cfg.Depth, DefaultDepth)
	setDefault(&cfg.MaxSGE, DefaultMaxSGE)
	if err := checkLimits(limit{"Depth", cfg.Depth, maxQueueDepth}, limit{"MaxSGE", cfg.MaxSGE, link.MaxSGE}); err != nil {
		return nil, fmt.Errorf("roce: create an SRQ: %w", err)
	}
	s := &SRQ{pd: p, cfg: cfg, users: make(map[*QP]struct{})}
	s.srq = engine.NewSRQ(cfg.Depth, cfg.MaxSGE, func(k EventKind) { p.dev.events.tell(Event{Kind: k, SRQ: s}) })
	err := p.adopt("create an SRQ", func() error {
		p.dev.newestSRQ++
		s.id = p.dev.newestSRQ
		p.srqs[s] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// engine is the queue for the engine, nil if there is none.
func (s *SRQ) engine() *engine.SRQ {
	if s == nil {
		return nil
	}
	return s.srq
}

// String names the queue in messages.
func (s *SRQ) String() string { return fmt.Sprintf("SRQ %d", s.id) }

// PostRecv appends receives, in the order in which messages will use them. See
// [QP.PostSend] for the result [ibv_post_srq_recv].
func (s *SRQ) PostRecv(wrs ...RecvWR) (n int, err error) {
	if s.closed.Load() {
		return 0, s.closedErr("post a receive")
	}
	for n = range wrs {
		if err = s.srq.PostRecv(&wrs[n]); err != nil {
			return n, fmt.Errorf("roce: %s: %w", s, err)
		}
	}
	return len(wrs), nil
}

// Arm asks for one [EventLimitReached] when fewer than limit receives are left; it
// comes at once if that is so already. 0 takes the request back. Arm again after
// posting more [ibv_modify_srq, IBV_SRQ_LIMIT].
func (s *SRQ) Arm(limit int) error {
	if s.closed.Load() {
		return s.closedErr("arm")
	}
	if limit < 0 || limit > s.cfg.Depth {
		return fmt.Errorf("roce: arm %s: limit %d is not between 0 and its depth, %d", s, limit, s.cfg.Depth)
	}
	s.srq.Arm(limit)
	return nil
}

// SRQAttr says what a shared receive queue is like now [ibv_srq_attr].
type SRQAttr struct {
	Depth  int // receives that it holds
	MaxSGE int // pieces per receive
	Limit  int // what it is armed with, 0: not armed, or the event came
	Posted int // receives that no queue pair has taken
}

// Attr returns the present attributes [ibv_query_srq].
func (s *SRQ) Attr() SRQAttr {
	return SRQAttr{Depth: s.cfg.Depth, MaxSGE: s.cfg.MaxSGE, Limit: s.srq.Limit(), Posted: s.srq.Len()}
}

// Close frees the queue; receives that were not used never complete. It is an error,
// which names them, if queue pairs use it. Closing again does nothing
// [ibv_destroy_srq].
func (s *SRQ) Close() error {
	d := s.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(s.users) > 0 {
		return fmt.Errorf("roce: close %s: in use by %s: close them first", s, strings.Join(names(s.users), ", "))
	}
	s.closed.Store(true)
	delete(s.pd.srqs, s)
	return nil
}

func (s *SRQ) closedErr(what string) error {
	return fmt.Errorf("roce: %s on %s: %w", what, s, net.ErrClosed)
}
