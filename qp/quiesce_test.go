package qp_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/qp"
)

// slowReader is memory that somebody wants back while it is being read.
type slowReader struct {
	q        *qp.SendQueue
	gone     atomic.Bool
	returned chan struct{}
	early    bool
}

func (r *slowReader) ReadLocal(s qp.SGE) ([]byte, bool) {
	go func() {
		r.q.Quiesce()
		r.gone.Store(true)
		close(r.returned)
	}()
	for range 10000 { // the other's chance to be wrong
		runtime.Gosched()
	}
	r.early = r.gone.Load()
	return make([]byte, s.Len), true
}

func TestQuiesceWaitsForInlineData(t *testing.T) {
	q := qp.NewSendQueue(1, 1, 8)
	q.SetState(qp.StateRTS)
	r := &slowReader{q: q, returned: make(chan struct{})}
	require.NoError(t, q.Post(&qp.SendWR{Op: qp.OpSend, Flags: qp.Inline, SGE: qp.SGE{Len: 8}}, r))
	<-r.returned
	require.False(t, r.early, "the memory was given back while Post read it")
}
