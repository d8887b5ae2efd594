package roce_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// TestSeedDecidesNames proves that in a simulated network everything that a peer sees
// of a device's objects comes from the seed: QPN, PSN, keys, and the addresses of
// regions, which fit their buffers modulo 8 where atomics need that.
func TestSeedDecidesNames(t *testing.T) {
	names := func(seed uint64) (info roce.Info, remotes [3]roce.Remote) {
		dev, err := roce.Open(simnet.New(seed).Link("a", netip.MustParseAddr("10.0.0.1")), roce.Manual())
		require.NoError(t, err)
		defer dev.Close()
		pd, err := dev.AllocPD()
		require.NoError(t, err)
		cq, err := dev.CreateCQ(1)
		require.NoError(t, err)
		qp, err := pd.CreateQP(roce.QPConfig{SendCQ: cq})
		require.NoError(t, err)
		buf := make([]byte, 128)
		for i, rights := range []roce.Access{roce.AccessRemoteRead, roce.AccessRemoteRead | roce.AccessZeroBased, allRights} {
			m, err := pd.RegMR(buf[8*i:], rights)
			require.NoError(t, err)
			remotes[i] = m.Remote()
		}
		return qp.Info(), remotes
	}
	info, remotes := names(1)
	again, same := names(1)
	require.Equal(t, info, again)
	require.Equal(t, remotes, same)
	require.Zero(t, remotes[1].Addr)
	require.Zero(t, remotes[2].Addr%8)
	other, others := names(2)
	require.NotEqual(t, info, other)
	require.NotEqual(t, remotes[0].Addr, others[0].Addr)
}
