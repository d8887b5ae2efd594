package roce_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// TestConnRefusesWhatDoesNotFit proves that what cannot fit the peer's window is
// refused here: the connection lives on.
func TestConnRefusesWhatDoesNotFit(t *testing.T) {
	_, a, b := newConns(t)
	ctx := testContext(t)
	window := b.mr.Remote().Slice(0, 100)
	require.ErrorContains(t, a.conn.Write(ctx, a.mr.SGE(0, 101), window), "101 bytes does not fit the peer's window of 100")
	require.ErrorContains(t, a.conn.WriteImm(ctx, a.mr.SGE(0, 101), window, 1), "does not fit")
	require.ErrorContains(t, a.conn.Read(ctx, a.mr.SGE(0, 101), window), "does not fit")
	_, err := a.conn.FetchAdd(ctx, window.Slice(0, 7), 1)
	require.ErrorContains(t, err, "8 bytes does not fit the peer's window of 7")
	require.NoError(t, a.conn.Write(ctx, a.mr.SGE(0, 100), window))
}

// TestFirstFailureSaysWhatToDo proves that already the call whose work failed tells
// of the cause and the remedy.
func TestFirstFailureSaysWhatToDo(t *testing.T) {
	_, a, b := newConns(t)
	window := b.mr.Remote()
	window.Key ^= 1
	err := a.conn.Write(testContext(t), a.mr.SGE(0, 10), window)
	var refused *roce.RemoteError
	require.ErrorAs(t, err, &refused)
	var cause *roce.QPError
	require.ErrorAs(t, err, &cause)
	require.ErrorContains(t, err, "check key, address, length and rights")
}

// TestAbortSaysWhatItWaitedFor proves that a call which its context ends tells that
// the peer has no receive posted, or is silent.
func TestAbortSaysWhatItWaitedFor(t *testing.T) {
	abort := func(t *testing.T, silent bool) error {
		var err error
		synctest.Test(t, func(t *testing.T) {
			_, a, b := newConns(t, roce.WithRetry(8, 7, 7)) // 1 ms
			if silent {
				require.NoError(t, b.conn.Close())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			err = a.conn.Send(ctx, a.mr.SGE(0, 10))
		})
		return err
	}
	err := abort(t, false)
	require.True(t, errors.Is(err, context.DeadlineExceeded))
	require.ErrorContains(t, err, "times that it has no receive posted")
	require.Regexp(t, `SEND aborted, and with it QP 0x[0-9a-f]{6}, connected to QP 0x[0-9a-f]{6} at 10\.0\.0\.2: `, err.Error())
	require.ErrorContains(t, abort(t, true), "the peer was silent for")
}
