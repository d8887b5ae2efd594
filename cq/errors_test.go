package cq_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
)

func TestErrorsOfCompletions(t *testing.T) {
	require.NoError(t, (&cq.WC{ID: 7}).Err())

	flushed := (&cq.WC{ID: 7, QPN: 0x11, Status: cq.StatusFlushed}).Err()
	require.ErrorIs(t, flushed, cq.ErrFlushed)
	require.EqualError(t, flushed, "work request 7 on QP 0x000011: Work Request Flushed Error (status 5, vendor error 0)")

	lost := (&cq.WC{Status: cq.StatusRetryExceeded}).Err()
	require.NotErrorIs(t, lost, cq.ErrFlushed)
	var remote *cq.RemoteError
	require.False(t, errors.As(lost, &remote), "nobody refused anything")

	refused := (&cq.WC{ID: 7, Status: cq.StatusRemoteAccess}).Err()
	require.ErrorAs(t, refused, &remote)
	var plain *cq.WCError
	require.ErrorAs(t, refused, &plain)
	require.EqualValues(t, 7, plain.WRID)
	require.ErrorContains(t, refused, "refused by the peer")
}
