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

// TestCompletionsInWords proves that a WC prints what means anything in it.
func TestCompletionsInWords(t *testing.T) {
	require.Equal(t, "work 7 on QP 0x11: Work Request Flushed Error", cq.WC{ID: 7, QPN: 0x11, Status: cq.StatusFlushed, ByteLen: 9}.String())
	require.Equal(t, "work 7 on QP 0x11: RDMA_READ of 9 bytes", cq.WC{ID: 7, QPN: 0x11, Opcode: cq.OpRDMARead, ByteLen: 9}.String())
	require.Equal(t, "work 0 on QP 0x11: RECV of 3 bytes, immediate 0xff", cq.WC{QPN: 0x11, Opcode: cq.OpRecv, ByteLen: 3, Flags: cq.WithImm, Imm: 255}.String())
}
