package roce_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/simnet"
)

// TestPacingInABubble proves that pacing works where time passes only while everybody
// sleeps: a leader that spun until a packet is due would spin for ever.
func TestPacingInABubble(t *testing.T) {
	for _, rate := range []float64{10e6, 1e9, 10e9} {
		synctest.Test(t, func(t *testing.T) {
			params := ecn.Paper()
			params.MaxRate = rate
			w := simnet.New(1, simnet.RealTime())
			conn := func(l *simnet.Link) (*roce.Conn, *roce.MR) {
				dev, err := roce.Open(l)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, dev.Close()) })
				pd, err := dev.AllocPD()
				require.NoError(t, err)
				mr, err := pd.RegMR(make([]byte, bufferSize), allRights)
				require.NoError(t, err)
				c, err := pd.CreateConn(roce.ConnConfig{DCQCN: &roce.DCQCN{Params: params}})
				require.NoError(t, err)
				return c, mr
			}
			a, from := conn(w.Link("a", hostAddr))
			b, to := conn(w.Link("b", enemyAddr))
			require.NoError(t, a.QP().Connect(b.QP().Info()))
			require.NoError(t, b.QP().Connect(a.QP().Info()))
			began := w.Now()
			require.NoError(t, a.Write(t.Context(), from.SGE(0, bufferSize), to.Remote()))
			const packet = 1024 + 12 + 4 + 8 + 20 + 38              // BTH, ICRC, UDP, IPv4, Ethernet
			nominal := time.Duration((63*packet + 16) * 8e9 / rate) // until the last one leaves; the first has a RETH
			took := w.Now().Sub(began) - 4*simnet.DefaultLatency
			require.InDelta(t, float64(nominal), float64(took), 1000)
			require.Zero(t, a.QP().Stats().Retransmitted)
		})
	}
}
