package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/trace"
)

// depth is how many operations are under way at once, at most.
const depth = 16

// pair is A and B, connected.
type pair struct{ a, b *side }

// side is one end.
type side struct {
	name string
	dev  *roce.Device
	pd   *roce.PD
	cq   *roce.CQ
	qp   *roce.QP
	wc   [depth]roce.WC
}

// openPair makes both ends and connects them. Taps may be nil.
func openPair(n network, tapA, tapB trace.Tap, opts ...roce.ConnectOption) (*pair, error) {
	linkA, linkB, err := n.open(n.addrA, n.addrB)
	if err != nil {
		return nil, err
	}
	ends := &pair{}
	if ends.a, err = openSide("A", linkA, tapA); err != nil {
		return nil, errors.Join(err, linkB.Close())
	}
	if ends.b, err = openSide("B", linkB, tapB); err != nil {
		return nil, errors.Join(err, ends.a.dev.Close())
	}
	if err := ends.connect(opts); err != nil {
		return nil, errors.Join(err, ends.close())
	}
	return ends, nil
}

// connect tells each end of the other. Two programs would exchange the same over
// TCP.
func (p *pair) connect(opts []roce.ConnectOption) error {
	return errors.Join(p.b.qp.Connect(p.a.qp.Info(), opts...), p.a.qp.Connect(p.b.qp.Info(), opts...))
}

func (p *pair) close() error { return errors.Join(p.a.dev.Close(), p.b.dev.Close()) }

// pathMTU is the payload of a packet, in bytes.
func (p *pair) pathMTU() int { return p.a.qp.Attr().PathMTU }

func openSide(name string, l link.Link, tap trace.Tap) (*side, error) {
	var opts []roce.Option
	if tap != nil {
		opts = append(opts, roce.WithTap(tap))
	}
	dev, err := roce.Open(l, opts...)
	if err != nil {
		return nil, err
	}
	s := &side{name: name, dev: dev}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return s, nil
}

func (s *side) create() (err error) {
	if s.pd, err = s.dev.AllocPD(); err != nil {
		return err
	}
	if s.cq, err = s.dev.CreateCQ(2 * depth); err != nil {
		return err
	}
	s.qp, err = s.pd.CreateQP(roce.QPConfig{SendCQ: s.cq, SendDepth: depth, RecvDepth: depth})
	return err
}

// reap waits for n completions and has each checked.
func (s *side) reap(ctx context.Context, n int, check func(*roce.WC) error) error {
	for n > 0 {
		got, err := s.cq.Wait(ctx, s.wc[:min(n, depth)])
		if err != nil {
			return fmt.Errorf("%s waits for %d completions: %w", s.name, n, err)
		}
		for i := range s.wc[:got] {
			if err := s.check(&s.wc[i], check); err != nil {
				return err
			}
		}
		n -= got
	}
	return nil
}

func (s *side) check(wc *roce.WC, check func(*roce.WC) error) error {
	err := s.cq.Err(wc)
	if err == nil {
		err = check(wc)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
