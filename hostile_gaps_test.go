package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/transport"
)

// Peers of many queue pairs send what lies behind a gap, as much as is held of each, and
// never fill the gap. What all of them hold together is bounded for the device; the rest is
// dropped. The bystander's own gaps are filled meanwhile, and closing gives the memory back.
func TestGapsOfManyQueuePairsAreBounded(t *testing.T) {
	const (
		peers   = 20
		each    = 256 // behind the gap
		payload = 4096
		size    = payload + 256 // of one that is held, as it is counted
		most    = 8 << 20       // of a device
	)
	s := newSiege(t)
	var list []*roce.QP
	attack := func() {
		for i := range peers {
			cfg := roce.QPConfig{SendCQ: s.victim.cq}
			q, err := s.victim.pd.CreateQP(cfg)
			require.NoError(t, err)
			list = append(list, q)
			peer := roce.Info{GID: enemyAddr, QPN: enemyQPN + uint32(i), PSN: uint32(enemyPSN), MTU: payload, RdAtomic: 16}
			require.NoError(t, q.Connect(peer, roce.WithPathMTU(payload)))
			for off := range uint32(each) {
				s.forged(bth.RCWriteMiddle, bthtest.QP(q.QPN()), bthtest.PSN(enemyPSN.Add(1+off)), bthtest.Pattern(payload)).fire()
			}
			s.business()
			s.deafen()
		}
	}
	attack()
	s.settle()
	held, refused := s.tally.done[transport.Held], s.tally.rules[transport.RuleNoRoom]
	t.Logf("%d of %d are held, %d KiB", held, peers*each, held*size>>10)
	require.NotZero(t, refused)
	require.LessOrEqual(t, held*size, most)
	require.Greater(t, held*size, most/2, "else it is not what bounds them")
	s.unconcerned()

	for _, q := range list {
		require.NoError(t, q.Close())
	}
	attack()
	s.settle()
	require.Equal(t, 2*held, s.tally.done[transport.Held], "what they held was given back")
	s.unconcerned()
}
