package roce

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/link"
)

// Defaults of [DCQCN].
const (
	DefaultCNPInterval = ecn.DefaultInterval
	DefaultCNPDSCP     = 48 // CS6, as ConnectX adapters send them
)

// Ranges of [DCQCN].
const (
	minLineRate    = 1e6 // bit/s: who gives Gb/s is told
	maxCNPInterval = time.Second
	maxDSCP        = 1<<6 - 1
)

// DCQCN says how a queue pair reacts to congestion that switches mark (ECN): its requests
// and READ responses tell switches that they may be marked (ECT(0)); when the peer says by
// a congestion notification packet (CNP) that some were, it sends slower, and returns to its
// rate by and by. One rate holds for all of it. Package congestion/ecn has the rules and
// explains the parameters. The zero DCQCN obeys the peer's CNPs, and sends none itself.
//
// Without congestion nothing is paced. The two ends need not agree on anything. Several queue
// pairs may be made of one DCQCN: each has a copy, and a rate of its own.
//
// At the lowest rate a packet takes its time: 34 ms with a path MTU of 4096 at 1 Mb/s. A
// peer that READs does not know of it: its acknowledgement timeouts, all retries together,
// have to last for longer, as those of [QP.Connect] do unless told otherwise.
type DCQCN struct {
	// Params are the reaction's parameters, such as [ecn.ConnectX]; zero: [ecn.Paper].
	Params ecn.Params
	// LineRate is what the link can send, in bit/s, at least 1e6; 0: what the link says of
	// itself, and if that is nothing, as with kernel UDP and veth, what is measured.
	LineRate float64

	// SendCNP answers marked requests and READ responses of the peer with CNPs. Set it only
	// if the peer takes them: Linux kernels before 5.12 with rdma_rxe must not be sent any,
	// for the packet has them read memory that is not theirs.
	SendCNP bool
	// CNPInterval is the least time between two CNPs, up to 1 s; 0: 50 µs.
	CNPInterval time.Duration
	// CNPDSCP is the DSCP of CNPs, up to 63; 0: 48. Switches should let them pass first.
	CNPDSCP uint8
}

// Rate is what congestion control allows a queue pair.
type Rate = congestion.Rate

// Rate is how fast the queue pair may send at present, and why.
func (q *QP) Rate() Rate { return q.qp.Snapshot().Rate }

// control makes what the engine needs; of nil, nil.
func (d *DCQCN) control(l link.Link) (*engine.DCQCN, error) {
	if d == nil {
		return nil, nil
	}
	if d.CNPInterval < 0 || d.CNPInterval > maxCNPInterval {
		return nil, fmt.Errorf("DCQCN.CNPInterval %v is not between 0 and %v", d.CNPInterval, maxCNPInterval)
	}
	if d.CNPDSCP > maxDSCP {
		return nil, fmt.Errorf("DCQCN.CNPDSCP %d is not between 0 and %d", d.CNPDSCP, maxDSCP)
	}
	if d.LineRate > 0 && d.LineRate < minLineRate {
		return nil, fmt.Errorf("DCQCN.LineRate is %v bit/s, must be 0 or at least %v", d.LineRate, minLineRate)
	}
	line := d.LineRate
	if r, ok := l.(link.Rated); ok && line == 0 {
		line = r.BitsPerSecond()
	}
	c, err := ecn.New(ecn.Config{Params: d.Params, LineRate: line})
	if err != nil {
		return nil, fmt.Errorf("DCQCN: %w", err)
	}
	return &engine.DCQCN{Controller: c, SendCNP: d.SendCNP, CNPInterval: d.CNPInterval}, nil
}

func (d *DCQCN) dscp() uint8 { return cmp.Or(d.CNPDSCP, DefaultCNPDSCP) }
