package roce_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// I02: sixteen workers share a device, each with its own domain and a connection to each of
// the sixteen on another host. Queue pair numbers are unique on the device, so everybody gets
// what was meant for it, and nothing else. (Two processes cannot have one address: the
// second is told who has the port.)
func TestManyWorkersOnOneDevice(t *testing.T) {
	const ranks = 16
	w := simnet.New(1)
	type worker struct {
		*end
		qps [ranks]*roce.QP
	}
	var hosts [2][ranks]worker
	for h, addr := range []string{"10.0.0.1", "10.0.0.2"} {
		dev, err := roce.Open(w.Link(addr, netip.MustParseAddr(addr)), roce.Manual())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		w.Attach(dev)
		numbers := map[uint32]bool{}
		for i := range hosts[h] {
			e := &end{t: t, dev: dev}
			e.pd, err = dev.AllocPD()
			require.NoError(t, err)
			e.cq, err = dev.CreateCQ(4 * ranks)
			require.NoError(t, err)
			e.mr, err = e.pd.RegMR(make([]byte, 16*ranks), allRights)
			require.NoError(t, err)
			hosts[h][i].end = e
			for peer := range ranks {
				q, err := e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
				require.NoError(t, err)
				hosts[h][i].qps[peer] = q
				numbers[q.QPN()] = true
			}
		}
		require.Len(t, numbers, ranks*ranks)
	}
	for i := range ranks {
		for j := range ranks {
			near, far := hosts[0][i].qps[j], hosts[1][j].qps[i]
			require.NoError(t, near.Connect(far.Info()))
			require.NoError(t, far.Connect(near.Info()))
			_, err := far.PostRecv(roce.RecvWR{ID: uint64(i), SGE: hosts[1][j].mr.SGE(16*i, 8)})
			require.NoError(t, err)
			word := hosts[0][i].mr.Bytes()[16*j : 16*j+8]
			copy(word, []byte{1, byte(i), byte(j)})
			_, err = near.PostSend(roce.SendWR{Op: roce.OpSend, SGE: hosts[0][i].mr.SGE(16*j, 8)})
			require.NoError(t, err)
		}
	}
	p := &pair{t: t, world: w}
	p.settle()
	for j := range ranks {
		for _, wc := range p.wait(hosts[1][j].end, ranks) {
			require.NoError(t, wc.Err())
			i := int(wc.ID)
			require.Equal(t, hosts[0][i].qps[j].QPN(), wc.SrcQP)
			require.Equal(t, []byte{1, byte(i), byte(j)}, hosts[1][j].mr.Bytes()[16*i:16*i+3])
		}
	}
}
