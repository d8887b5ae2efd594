package ethtool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/ethtool"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// A veth takes tags off, has as many queues as it was made with, and says that it is as fast
// as any; the loopback interface has neither tags nor queues nor a speed to tell of.
func TestInterfacesSay(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{Queues: 3})
	require.NoError(t, s.A.Do(func() error {
		require.True(t, ethtool.StripsVLAN("va"))
		require.Equal(t, 3, ethtool.RxQueues("va"))
		require.Equal(t, 10_000, ethtool.Speed("va"))
		for _, silent := range []string{"lo", "nosuch"} {
			require.False(t, ethtool.StripsVLAN(silent))
			require.Zero(t, ethtool.RxQueues(silent))
			require.Zero(t, ethtool.Speed(silent))
		}
		return nil
	}))
}
