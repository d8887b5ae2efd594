package engine

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// DCQCN is what a queue pair does about congestion that switches mark. Without it, a queue
// pair ignores CNPs, sends none, and paces nothing.
type DCQCN struct {
	Controller  congestion.Controller // obeys the peer's CNPs; of this queue pair alone
	SendCNP     bool                  // answer marked packets
	CNPInterval time.Duration         // the least between two CNPs; 0: ecn.DefaultInterval
}

// dcqcn is a QP's congestion control by ECN: reaction point and notification point.
type dcqcn struct {
	controller congestion.Controller
	pace       clock.Timer[*QP] // in Shard.wheel, while the next packet may not leave

	notifies bool   // the peer takes CNPs
	np       ecn.NP // says when one is due
	owing    queued // in Shard.notifying
}

func newDCQCN(q *QP, cfg *DCQCN) *dcqcn {
	return &dcqcn{
		controller: cfg.Controller, pace: clock.Timer[*QP]{Value: q},
		notifies: cfg.SendCNP, np: ecn.NP{Interval: cfg.CNPInterval}, owing: queued{qp: q},
	}
}

// forget ends what a connection was about: nobody waits for its pace or its CNPs any more.
func (s *Shard) forget(d *dcqcn) {
	if d != nil {
		s.wheel.Remove(&d.pace)
		d.np = ecn.NP{Interval: d.np.Interval}
	}
}

// Paths are the ways to a queue pair's peer, by the class of what is sent: resolved and
// prepared, and different in nothing but the traffic class.
type Paths [transport.NumClasses]*wire.Path

// onWire is what a packet of n bytes, BTH to ICRC, takes of the network.
func (q *QP) onWire(n int) int {
	if q.paths[transport.ClassRequest].Src.Is4() {
		return wire.EthernetOverhead + wire.IPv4Len + wire.UDPLen + n
	}
	return wire.EthernetOverhead + wire.IPv6Len + wire.UDPLen + n
}
