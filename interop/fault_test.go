//go:build linux

package interop

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
)

// fault is what happens to packets of a connection.
type fault struct {
	of     bth.Flags // to which kind: bth.Request, bth.Response or both
	which  func(n int) bool
	name   string // of which
	copies int    // of them that arrive: 0 or 2
}

// nth strikes one packet, counted from 1.
func nth(of bth.Flags, n int) fault {
	return fault{of: of, name: fmt.Sprintf("number %d", n), which: func(i int) bool { return i == n }}
}

// often loses packets number 1, 3, 6, 10 and so on of all. (Every tenth would not do:
// a period can meet the length of a retransmission, and lose the same packet again and
// again.)
func often() fault {
	next, step := 1, 1
	return fault{of: bth.Request | bth.Response, name: "1, 3, 6, 10 …", which: func(i int) bool {
		if i != next {
			return false
		}
		step++
		next += step
		return true
	}}
}

// doubled doubles each packet.
func doubled(of bth.Flags) fault {
	return fault{of: of, name: "each", which: func(int) bool { return true }, copies: 2}
}

func (f fault) String() string {
	kind, fate := "packet", "lost"
	switch f.of {
	case bth.Request:
		kind = "request"
	case bth.Response:
		kind = "response"
	default: // both
	}
	if f.copies > 1 {
		fate = "doubled"
	}
	return fmt.Sprintf("%s %s %s", kind, f.name, fate)
}

// inflict has the fault happen to packets of a connection, until it is lifted. lift
// returns the packets that it struck, and may be called again.
func (tap *wiretap) inflict(p *pair, f fault) (lift func() (struck []*sighting)) {
	var struck []*sighting
	n := 0
	ours, kernel := p.ours.qp.QPN(), p.kernel.qp.QPN
	tap.setFault(func(s *sighting) (copies int) {
		if dest := s.BTH.DestQP; !s.is(f.of) || dest != ours && dest != kernel {
			return 1
		}
		n++
		if !f.which(n) {
			return 1
		}
		struck = append(struck, s)
		return f.copies
	})
	return func() []*sighting {
		tap.setFault(nil)
		return struck
	}
}
