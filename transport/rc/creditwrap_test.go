package rc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// MSNs go round after 2^24 messages, and credits with them.
func TestCreditsAcrossTheWrap(t *testing.T) {
	c := credits{limited: true, limit: 0xfffffd, begun: 0xfffffd, done: 0xfffffc}
	c.grant(bth.AETH{Syndrome: bth.ACKCredits(4), MSN: 0xfffffd})
	require.Equal(t, bth.PSN(1), c.limit)
	var last qp.SendWQE
	for range 4 {
		last = qp.SendWQE{Op: qp.OpSend}
		c.begin(&last)
	}
	require.Equal(t, bth.PSN(1), last.MSN)
	c.end(&last)
	c.grant(bth.AETH{Syndrome: bth.ACKCredits(8), MSN: 0xffffff})
	require.Equal(t, bth.PSN(1), c.limit, "long completed")
	c.begin(&qp.SendWQE{Op: qp.OpWrite})
	require.Equal(t, bth.PSN(2), c.limit, "needs no receive")
	c.grant(bth.AETH{Syndrome: bth.ACKCredits(1), MSN: 2})
	require.Equal(t, bth.PSN(3), c.limit)
}
