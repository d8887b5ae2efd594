package udp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// The steady state allocates nothing, gathering and parking included.
func TestNoAllocations(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector adds allocations")
	}
	a, b := pair(t)
	p := path(t, a, b)
	p.TrafficClass = 2
	require.NoError(t, a.Resolve(p))
	payload := [][]byte{make([]byte, 4096)}
	rx := make([]link.Rx, 16)
	var s link.Slot
	turn := func() {
		for i := range 4 {
			a.queue.Reserve(p, 12, payload, 0, i%2 == 0, &s)
			p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
		}
		a.queue.Flush()
		for got := 0; got < 4; {
			b.queue.Arm(b.queue.Now().Add(1e9), link.Interest{Rx: true})
			b.queue.Park()
			b.queue.Disarm()
			for i := range rx[:b.queue.Recv(rx)] {
				got += packetsIn(len(rx[i].Frag[0]), rx[i].Seg)
			}
		}
		b.queue.Release()
		b.queue.Wake()
		b.queue.Park()
	}
	require.Zero(t, testing.AllocsPerRun(200, turn))
	require.Zero(t, a.Stats().WouldBlock)
}
