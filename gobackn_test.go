package roce_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// TestGoBackN proves both halves of QPConfig.GoBackN, when the second of five packets of a
// WRITE is lost: such a receiver drops what follows, such a sender repeats it whether or not it was
// dropped, and a sender without finds out by the one packet that it sends first.
func TestGoBackN(t *testing.T) {
	for _, c := range []struct {
		sender, receiver  bool
		again, duplicates uint64 // packets sent again, and those of them that had been carried out
	}{
		{sender: false, receiver: false, again: 1, duplicates: 0},
		{sender: true, receiver: false, again: 4, duplicates: 3},
		{sender: false, receiver: true, again: 4, duplicates: 0},
		{sender: true, receiver: true, again: 4, duplicates: 0},
	} {
		t.Run(fmt.Sprintf("sender %v, receiver %v", c.sender, c.receiver), func(t *testing.T) {
			w := simnet.New(1)
			p := &pair{
				t: t, world: w,
				a: newEnd(t, w, "a", "10.0.0.1", roce.QPConfig{GoBackN: c.sender}),
				b: newEnd(t, w, "b", "10.0.0.2", roce.QPConfig{GoBackN: c.receiver}),
			}
			require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
			require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
			p.writes(1, 10) // which measures the round trip
			require.NoError(t, p.wait(p.a, 1)[0].Err())
			w.Faults.Add(simnet.Drop(simnet.Match{From: "a", Nth: 3}))
			for _, n := range []int{8, 5 * 1024} { // the first measures the round trip
				p.writes(1, n)
				require.NoError(t, p.wait(p.a, 1)[0].Err())
			}
			p.settle()
			require.Equal(t, c.again, p.a.qp.Stats().Retransmitted)
			require.Equal(t, c.duplicates, p.b.qp.Stats().Duplicates)
			require.Equal(t, p.a.mr.Bytes()[:5*1024], p.b.mr.Bytes()[:5*1024])
		})
	}
}
