package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// TestCredits proves that a receiver that counts its receives keeps a sender from sending
// more than it can take: what follows a message without a receive is not sent in vain.
func TestCredits(t *testing.T) {
	run := func(credits bool) roce.QPStats {
		p := newUnconnected(t, roce.QPConfig{Credits: credits, RecvDepth: 4})
		require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
		require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
		const messages = 60
		posted, sent := 0, 0
		for received := 0; received < messages; {
			for posted < messages && posted < received+4 {
				p.b.recv(uint64(posted), 0, 4096)
				posted++
			}
			for ; sent < messages && sent < received+30; sent++ {
				p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 4096)})
			}
			for _, wc := range p.wait(p.b, 1) {
				require.NoError(t, wc.Err())
				require.EqualValues(t, received, wc.ID)
				received++
			}
		}
		p.settle()
		require.NoError(t, p.a.qp.Err())
		t.Logf("credits %v: the sender %+v", credits, p.a.qp.Stats())
		return p.a.qp.Stats()
	}
	without, with := run(false), run(true)
	require.Less(t, with.Retransmitted, without.Retransmitted)
	require.LessOrEqual(t, with.RNRWaits, without.RNRWaits)
}
