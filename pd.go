package roce

import (
	"fmt"
	"maps"
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
	mws    map[*MW]struct{}
	qps    map[*QP]struct{}
	srqs   map[*SRQ]struct{}
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
// pairs, shared receive queues, memory regions or windows left in it. Closing again does nothing [ibv_dealloc_pd].
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
func (p *PD) children() []string {
	return slices.Concat(names(p.mrs), names(p.mws), names(p.qps), names(p.srqs))
}

// names are those of a set of objects, sorted.
func names[T interface {
	comparable
	fmt.Stringer
}](set map[T]struct{}) []string {
	list := make([]string, 0, len(set))
	for o := range set {
		list = append(list, o.String())
	}
	slices.Sort(list)
	return list
}

// closeAll closes the domain and what lives in it.
func (p *PD) closeAll() {
	p.dev.mu.Lock()
	qps := slices.Collect(maps.Keys(p.qps))
	srqs := slices.Collect(maps.Keys(p.srqs))
	mws := slices.Collect(maps.Keys(p.mws))
	mrs := slices.Collect(maps.Keys(p.mrs))
	p.dev.mu.Unlock()
	for _, q := range qps {
		_ = q.Close() // never fails
	}
	for _, s := range srqs {
		_ = s.Close() // nobody uses it any more
	}
	for _, w := range mws {
		_ = w.Close() // never fails
	}
	for _, m := range mrs {
		_ = m.Close() // no windows are left
	}
	_ = p.Close() // can only fail for a child that was made since, and none can be
}
