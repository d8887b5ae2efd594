package qp_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
)

// TestSharedQueueTakes proves that receives are taken in the order of posting, that what
// was taken is the taker's own copy, and that the queue holds exactly its depth.
func TestSharedQueueTakes(t *testing.T) {
	q := qp.NewSharedRecvQueue(3, 2)
	w := qp.RecvWQE{SGL: make([]qp.SGE, 0, 2)}
	for round := range uint64(5) {
		for i := range uint64(3) {
			require.NoError(t, q.Post(&qp.RecvWR{ID: 10*round + i, SGL: []qp.SGE{piece(1), piece(uint32(i) + 1)}}))
		}
		require.ErrorIs(t, q.Post(&qp.RecvWR{}), qp.ErrQueueFull)
		for i := range uint64(3) {
			require.False(t, q.Take(&w))
			require.NoError(t, q.Post(&qp.RecvWR{SGE: piece(9)}), "its room is free")
			require.Equal(t, qp.RecvWQE{ID: 10*round + i, Len: uint32(i) + 2, SGL: []qp.SGE{piece(1), piece(uint32(i) + 1)}}, w)
		}
		for range 3 {
			q.Take(&w)
		}
		require.Zero(t, q.Len())
	}
	var e *qp.WRError
	require.ErrorAs(t, q.Post(&qp.RecvWR{SGL: make([]qp.SGE, 3)}), &e)
}

// TestLimitIsNeverMissed proves that, with receives posted, taken and the limit armed by
// goroutines of their own, every arming ends in exactly one event or in being disarmed,
// and that a queue at rest below its limit is never armed.
func TestLimitIsNeverMissed(t *testing.T) {
	const total, limit = 20_000, 4
	q := qp.NewSharedRecvQueue(8, 1)
	var armed, told atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := 0; n < total/4; {
				if err := q.Post(&qp.RecvWR{}); err == nil {
					n++
				} else if !errors.Is(err, qp.ErrQueueFull) {
					t.Error(err)
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	var arming sync.WaitGroup
	arming.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if q.Limit() == 0 {
				armed.Add(1)
				if q.Arm(limit) {
					told.Add(1)
				}
			}
		}
	})
	w := qp.RecvWQE{SGL: make([]qp.SGE, 0, 1)}
	for taken := 0; taken < total; {
		if q.Len() > 0 {
			if q.Take(&w) {
				told.Add(1)
			}
			taken++
		}
	}
	all.Wait()
	close(stop)
	arming.Wait()
	require.Zero(t, q.Len())
	require.Zero(t, q.Limit(), "an empty queue is below every limit")
	require.Equal(t, armed.Load(), told.Load())
}

// TestSharedQueueAllocatesNothing proves it of posting and taking.
func TestSharedQueueAllocatesNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	q := qp.NewSharedRecvQueue(4, 2)
	w, wr := qp.RecvWQE{SGL: make([]qp.SGE, 0, 2)}, qp.RecvWR{SGL: []qp.SGE{piece(1), piece(2)}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		q.Arm(2)
		_ = q.Post(&wr)
		q.Take(&w)
	}))
}
