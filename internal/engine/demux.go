package engine

import (
	"errors"

	"github.com/rocinante-rdma/roce/bth"
)

// QPNs that are not for connections: 0 is refused, 1 belongs to connection management
// (IBTA vol. 1, 3.9.2), and the last one to multicast (10.2.6): no peer would connect to it.
const (
	managementQPN = 1
	multicastQPN  = qpnMask
)

// MaxQP is how many queue pairs a shard can have.
const MaxQP = multicastQPN - managementQPN - 1

const (
	qpnBits     = 24
	qpnMask     = 1<<qpnBits - 1
	qpnPageBits = 10
	qpnPageSize = 1 << qpnPageBits
)

// ErrNoQPN is returned when every queue pair number is in use.
var ErrNoQPN = errors.New("engine: create a queue pair: every queue pair number is in use; destroy some")

// demux maps QPNs to QPs. Numbers begin at a random one and go round, so a
// destroyed QP's number rests for as long as possible: late packets of an old
// connection must not find a new one.
type demux struct {
	pages  [1 << (qpnBits - qpnPageBits)]*qpnPage
	newest uint32 // QPN given last
	live   int
	rand   func() uint64
}

type qpnPage struct {
	qps  [qpnPageSize]*QP
	live int
}

func (d *demux) init(rand func() uint64) {
	d.rand = rand
	d.newest = uint32(rand()) & qpnMask
}

// find returns the QP with this number, or nil.
func (d *demux) find(qpn uint32) *QP {
	p := d.pages[qpn&qpnMask>>qpnPageBits]
	if p == nil {
		return nil
	}
	return p.qps[qpn%qpnPageSize]
}

// add gives q a number.
func (d *demux) add(q *QP) error {
	if d.live == MaxQP {
		return ErrNoQPN
	}
	for {
		d.newest = (d.newest + 1) & qpnMask
		if d.newest > managementQPN && d.newest < multicastQPN && d.find(d.newest) == nil {
			break
		}
	}
	page := &d.pages[d.newest>>qpnPageBits]
	if *page == nil {
		*page = new(qpnPage)
	}
	(*page).qps[d.newest%qpnPageSize] = q
	(*page).live++
	d.live++
	q.qpn = d.newest
	return nil
}

// remove frees q's number.
func (d *demux) remove(q *QP) {
	page := &d.pages[q.qpn>>qpnPageBits]
	(*page).qps[q.qpn%qpnPageSize] = nil
	if (*page).live--; (*page).live == 0 {
		*page = nil
	}
	d.live--
}

// all calls f for every QP.
func (d *demux) all(f func(*QP)) {
	for _, p := range d.pages {
		if p == nil {
			continue
		}
		for _, q := range p.qps {
			if q != nil {
				f(q)
			}
		}
	}
}

// randomPSN draws an initial PSN.
func (d *demux) randomPSN() bth.PSN { return bth.PSN(d.rand() & bth.PSNMask) }
