//go:build linux

package interop

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// trouble is a rule for the packets of a connection.
type trouble struct {
	do    func(fault.Match) *fault.Rule
	match fault.Match
}

// nth loses one packet, counted from 1, of those with the flags.
func nth(of bth.Flags, n int) trouble { return trouble{fault.Drop, fault.Match{Has: of, Nth: n}} }

// allLost loses every packet with the flags.
func allLost(of bth.Flags) trouble { return trouble{fault.Drop, fault.Match{Has: of}} }

// often loses one packet in ten, by chance. (Every tenth would not do: a period can meet
// the length of a retransmission, and lose the same packet again and again.)
func often() trouble { return trouble{fault.Drop, fault.Match{P: 0.1, Seed: 1}} }

// doubled doubles each packet with the flags.
func doubled(of bth.Flags) trouble { return trouble{fault.Duplicate, fault.Match{Has: of}} }

// What else happens to packets, beside loss. A flipped bit is the payload's, or the
// AETH's, so that captures still show what packet it was.
func reordered(m fault.Match) *fault.Rule { return fault.Reorder(m, 2) }
func delayed(m fault.Match) *fault.Rule   { return fault.Delay(m, 5*time.Millisecond) }
func corrupted(m fault.Match) *fault.Rule { return fault.Corrupt(m, -33) }

func (tr trouble) String() string { return tr.do(tr.match).String() }

// inflict has the trouble happen to packets of a connection, until it is lifted. lift
// returns the packets that it struck, and may be called again.
func (tap *wiretap) inflict(p *pair, tr trouble) (lift func() (struck []*sighting)) {
	ours, kernel := p.ours.qp.QPN(), p.kernel.qp.QPN
	tr.match.If = func(p *bth.Packet) bool { return p.DestQP == ours || p.DestQP == kernel }
	mark := tap.mark()
	end := tap.strike(tr.do(tr.match))
	return func() (struck []*sighting) {
		end()
		for _, s := range tap.since(mark) {
			if s.fate != (fault.Fate{}) {
				struck = append(struck, s)
			}
		}
		return struck
	}
}

// strike puts a rule in force, until it is lifted. lift may be called again.
func (tap *wiretap) strike(r *fault.Rule) (lift func()) {
	tap.faults.Add(r)
	return func() { tap.faults.Remove(r) }
}

// sender is the end, as rules call it, from which frames go in a direction.
func sender(d guest.Direction) string {
	if d == guest.FromGuest {
		return "guest"
	}
	return "host"
}
