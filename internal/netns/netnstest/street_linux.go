package netnstest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// NewStreet makes two hosts joined by a veth pair, which last as long as the test. It
// needs [testenv.Netns].
func NewStreet(t testing.TB, o netns.Options) *netns.Street {
	t.Helper()
	testenv.Need(t, testenv.Netns)
	s, err := netns.NewStreet(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
