package cq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
)

// TestStatusesAreThoseOfVerbs proves that statuses have the numbers of ibv_wc_status.
func TestStatusesAreThoseOfVerbs(t *testing.T) {
	for status, n := range map[cq.Status]int{
		cq.StatusSuccess: 0, cq.StatusLocalLength: 1, cq.StatusLocalQPOperation: 2, cq.StatusLocalProtection: 4, cq.StatusFlushed: 5,
		cq.StatusMWBind: 6, cq.StatusBadResponse: 7, cq.StatusRemoteInvalid: 9, cq.StatusRemoteAccess: 10, cq.StatusRemoteOperation: 11,
		cq.StatusRetryExceeded: 12, cq.StatusRNRRetryExceeded: 13, cq.StatusFatal: 19,
	} {
		require.EqualValues(t, n, status, "%s", status)
	}
}
