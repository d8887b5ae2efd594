package engine

import (
	"iter"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// Counters count what a shard did since it was made.
type Counters struct {
	RxPackets, TxPackets uint64
	RxBytes, TxBytes     uint64 // UDP payload
	ICRCInferred         uint64 // packets whose ICRC was checked without knowing the IPv4 identification
	Marked               uint64 // packets received with a switch's mark (CE)
	CNPsDropped          uint64 // congestion notifications that reached no QP
	QPErrors             uint64 // QPs gone to ERR
	CQOverflows          uint64

	ByRule  [transport.NumRules]uint64  // received packets, by the rule that decided their fate
	ByCause [transport.NumCauses]uint64 // sent packets, by why they were sent

	// Completions by their status: of work requests posted to send queues, unless they
	// succeeded unsignaled, and of receives.
	SendDone, RecvDone [cq.NumStatuses]uint64

	// QPs is the sum over all queue pairs, those that are gone included. In the
	// shard's own counters it is of those that are gone.
	QPs rc.Stats
}

// All goes through the counters that are not zero, with their names.
func (c *Counters) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, n := range []struct {
			name  string
			value uint64
		}{
			{"packets received", c.RxPackets}, {"packets sent", c.TxPackets},
			{"bytes received", c.RxBytes}, {"bytes sent", c.TxBytes},
			{"ICRC checked with inferred identification", c.ICRCInferred},
			{"packets marked by switches", c.Marked}, {"congestion notifications for no queue pair", c.CNPsDropped},
			{"queue pairs gone to ERR", c.QPErrors}, {"completion queues overflown", c.CQOverflows},
		} {
			if n.value != 0 && !yield(n.name, n.value) {
				return
			}
		}
		for r, n := range c.ByRule {
			if n != 0 && !yield("received: "+transport.Rule(r).String(), n) {
				return
			}
		}
		for cause, n := range c.ByCause {
			if n != 0 && !yield("sent: "+transport.Cause(cause).String(), n) {
				return
			}
		}
	}
}

// Counters returns the counters of one moment. It takes time for each queue pair.
func (s *Shard) Counters() Counters {
	s.mu.Lock()
	defer s.unlock()
	c := s.counters
	s.demux.all(func(q *QP) { c.QPs.Add(q.machine.Stats()) })
	return c
}
