package udp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A call asks for one datagram while they come singly, and for twice as many each
// time all came, until one call would move too many bytes.
func TestReceiveAdapts(t *testing.T) {
	for _, c := range []struct{ size, largest int }{{16, rxFrames / 2}, {1044, 32}, {4140, 8}, {60_000, 1}} {
		r := receiver{burst: 1}
		for range 10 {
			r.adapt(r.burst, r.burst, r.burst*c.size)
		}
		require.Equal(t, c.largest, r.burst, "%d bytes", c.size)
		r.adapt(r.burst, r.burst/2, r.burst/2*c.size)
		require.Equal(t, max(c.largest/2, 1), r.burst)
		r.adapt(r.burst, 0, 0)
		require.Equal(t, 1, r.burst)
	}
	r := receiver{burst: 64}
	r.adapt(64, 64, 64*4140)
	require.Equal(t, 32, r.burst, "packets grew")
	r.adapt(1, 1, 4140)
	require.Equal(t, 32, r.burst, "the caller had no room for more")
}
