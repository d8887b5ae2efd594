package roce

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/mr"
)

// PD is a protection domain: queue pairs reach only the memory of their own. All
// methods are safe for concurrent use.
type PD struct {
	dev *Device
	id  mr.PD

	// Under dev.mu.
	closed bool
	mrs    map[*MR]struct{}
	qps    map[*QP]struct{}
}

// Device is the device that the domain belongs to.
func (p *PD) Device() *Device { return p.dev }

// adopt registers a child by calling add, unless the domain is closed.
func (p *PD) adopt(what string, add func() error) error {
	p.dev.mu.Lock()
	defer p.dev.mu.Unlock()
	if p.dev.closed {
		return p.dev.closedErr(what)
	}
	if p.closed {
		return fmt.Errorf("roce: %s: PD: %w", what, net.ErrClosed)
	}
	return add()
}

// Close frees the domain. It is an error, which names them, if there are queue
// pairs or memory regions left in it. Closing again does nothing [ibv_dealloc_pd].
func (p *PD) Close() error {
	p.dev.mu.Lock()
	defer p.dev.mu.Unlock()
	if p.closed {
		return nil
	}
	if children := p.children(); len(children) > 0 {
		return fmt.Errorf("roce: close PD: in use by %s: close them first", strings.Join(children, ", "))
	}
	p.closed = true
	delete(p.dev.pds, p)
	return nil
}

// children names what lives in the domain. The caller holds dev.mu.
func (p *PD) children() (names []string) {
	for q := range p.qps {
		names = append(names, q.String())
	}
	for m := range p.mrs {
		names = append(names, m.String())
	}
	slices.Sort(names)
	return names
}

// closeAll closes the domain and what lives in it.
func (p *PD) closeAll() {
	p.dev.mu.Lock()
	qps, mrs := make([]*QP, 0, len(p.qps)), make([]*MR, 0, len(p.mrs))
	for q := range p.qps {
		qps = append(qps, q)
	}
	for m := range p.mrs {
		mrs = append(mrs, m)
	}
	p.dev.mu.Unlock()
	for _, q := range qps {
		_ = q.Close() // never fails
	}
	for _, m := range mrs {
		_ = m.Close() // never fails
	}
	_ = p.Close() // can only fail for a child that was made since, and none can be
}
