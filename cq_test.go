package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// An armed CQ that was made with SolicitedOnly stays silent at a plain message and
// tells of one that the peer marked.
func TestSolicitedOnly(t *testing.T) {
	p := newPair(t)
	cq, err := p.b.dev.CreateCQ(2, roce.SolicitedOnly())
	require.NoError(t, err)
	sender, err := p.a.pd.CreateQP(roce.QPConfig{SendCQ: p.a.cq})
	require.NoError(t, err)
	receiver, err := p.b.pd.CreateQP(roce.QPConfig{SendCQ: p.b.cq, RecvCQ: cq})
	require.NoError(t, err)
	require.NoError(t, sender.Connect(receiver.Info()))
	require.NoError(t, receiver.Connect(sender.Info()))
	_, err = receiver.PostRecv(roce.RecvWR{ID: 1}, roce.RecvWR{ID: 2})
	require.NoError(t, err)
	send := func(flags roce.SendFlags) {
		_, err := sender.PostSend(roce.SendWR{Op: roce.OpSend, Flags: roce.Signaled | flags})
		require.NoError(t, err)
		require.NoError(t, p.wait(p.a, 1)[0].Err())
	}

	event := cq.Notify()
	send(0)
	require.Empty(t, event, "a plain message")
	send(roce.Solicited)
	require.Len(t, event, 1, "a marked message")
	require.Equal(t, 2, cq.Poll(make([]roce.WC, 4)))
}
