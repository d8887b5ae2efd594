package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

func TestSRQOverUDP(t *testing.T) { postFromMany(t, loopback(t), loopback(t)) }

// Credits and SQD over the kernel's UDP: a receiver with one receive at a time, and a
// sender that is drained in between.
func TestCreditsAndDrainOverUDP(t *testing.T) {
	const messages = 50
	type side struct {
		dev *roce.Device
		cq  *roce.CQ
		mr  *roce.MR
		qp  *roce.QP
	}
	open := func() (s side) {
		var err error
		s.dev, err = roce.Open(loopback(t))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.dev.Close()) })
		pd, err := s.dev.AllocPD()
		require.NoError(t, err)
		s.cq, err = s.dev.CreateCQ(2 * messages)
		require.NoError(t, err)
		s.mr, err = pd.RegMR(make([]byte, 8192), allRights)
		require.NoError(t, err)
		s.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: s.cq, SendDepth: messages, Credits: true})
		require.NoError(t, err)
		return s
	}
	a, b := open(), open()
	require.NoError(t, a.qp.Connect(b.qp.Info()))
	require.NoError(t, b.qp.Connect(a.qp.Info(), roce.WithMinRNRTimer(1)))
	ctx := testContext(t)
	wc := make([]roce.WC, 1)
	postRecv := func() {
		_, err := b.qp.PostRecv(roce.RecvWR{SGE: b.mr.SGE(0, 8192)})
		require.NoError(t, err)
	}
	for id := range uint64(messages) {
		_, err := a.qp.PostSend(roce.SendWR{ID: id, Op: roce.OpSend, SGE: a.mr.SGE(0, 8192), Flags: roce.Signaled})
		require.NoError(t, err)
	}
	for range messages / 2 {
		postRecv()
		_, err := b.cq.Wait(ctx, wc)
		require.NoError(t, err)
		require.NoError(t, wc[0].Err())
	}
	require.NoError(t, a.qp.Modify(roce.QPAttr{State: roce.StateSQD, NotifyDrained: true}, roce.AttrState|roce.AttrNotifyDrained))
	postRecv() // for the one that may be under way
	require.Equal(t, roce.Event{Kind: roce.EventDrained, QP: a.qp}, <-a.dev.Events())
	require.NoError(t, a.qp.Modify(roce.QPAttr{State: roce.StateRTS}, roce.AttrState))
	for range messages - messages/2 {
		postRecv()
	}
	for done := range messages {
		_, err := a.cq.Wait(ctx, wc)
		require.NoError(t, err)
		require.NoError(t, wc[0].Err())
		require.EqualValues(t, done, wc[0].ID)
	}
}
