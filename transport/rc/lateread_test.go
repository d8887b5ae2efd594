package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestDuplicateReadOfClosedRegion proves that a READ which comes again after it was answered in full, and
// after its region was closed, does no harm: adapters send such duplicates, and who closes
// a region has heard from the peer that it has its data. One that was never answered in full
// is refused.
func TestDuplicateReadOfClosedRegion(t *testing.T) {
	for name, closed := range map[string]func(p *pair, read *packet){
		"before it comes again": func(p *pair, read *packet) { p.b.table.Deregister(p.b.mem); p.b.recv(read) },
		"before it is answered": func(p *pair, read *packet) { p.b.recv(read); p.b.table.Deregister(p.b.mem) },
		"in the middle of it":   func(p *pair, read *packet) { p.b.recv(read); p.b.next(); p.b.table.Deregister(p.b.mem) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			p.a.post(p.ask(qp.OpRead, 0, 3*testMTU))
			read := p.a.next()
			require.Len(t, p.b.say(read), 3)
			closed(p, read)
			require.Empty(t, p.b.drain())
			require.Equal(t, qp.StateRTS, p.b.m.State())
			require.Equal(t, transport.RuleForgotten, p.b.recv(read).Rule)
		})
	}
}
