package recoverypage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBetterThanGoBackN proves that at a loss of 1 % and a round trip of 1 ms more than
// twice as much gets through as with go-back-N, and that little more is sent than what
// was lost.
func TestBetterThanGoBackN(t *testing.T) {
	for _, mtu := range pathMTUs {
		c := Case{PathMTU: mtu, RTT: time.Millisecond, Loss: 0.01, Seed: 1}
		mending, err := Measure(c)
		require.NoError(t, err)
		c.GoBackN = true
		goingBack, err := Measure(c)
		require.NoError(t, err)
		t.Logf("path MTU %d: %s, go-back-N %s, × %.1f", mtu, rate(mending), rate(goingBack), mending.Goodput()/goingBack.Goodput())
		require.Greater(t, mending.Goodput(), 2*goingBack.Goodput())
		require.Less(t, mending.Retransmitted, mending.Sent*3/200, "1 % was lost")
	}
}

// TestMeasureRepeats proves that a case always comes to the same.
func TestMeasureRepeats(t *testing.T) {
	c := Case{PathMTU: 4096, RTT: time.Millisecond, Loss: 0.05, Seed: 7}
	a, err := Measure(c)
	require.NoError(t, err)
	b, err := Measure(c)
	require.NoError(t, err)
	require.Equal(t, a, b)
}
