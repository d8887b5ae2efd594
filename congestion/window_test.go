package congestion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
)

// TestWindow proves the plain window: its start, growth by one per window, halving,
// and that a lone packet always goes.
func TestWindow(t *testing.T) {
	var w congestion.Window
	for pmtu, packets := range map[int]int{256: 128, 1024: 128, 2048: 96, 4096: 48} {
		w.Start(0, pmtu)
		require.Equal(t, packets, w.Rate().Packets)
	}
	w.Start(0, 4096)
	require.Equal(t, clock.Time(5), w.NextSend(5, 47, 4096))
	require.Equal(t, clock.Never, w.NextSend(5, 48, 4096))
	w.Acked(0, 47, 0)
	require.Equal(t, 48, w.Rate().Packets)
	w.Acked(0, 1, 0)
	require.Equal(t, 49, w.Rate().Packets)
	for range 20 {
		w.Lost(0)
	}
	require.Equal(t, 2, w.Rate().Packets)
	require.Equal(t, uint64(20), w.Rate().LossesSoFar)
	require.Equal(t, clock.Time(5), w.NextSend(5, 0, 4096))
	require.Equal(t, clock.Never, w.Deadline())
}
