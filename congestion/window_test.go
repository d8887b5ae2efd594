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
	require.Equal(t, 1, w.Rate().Packets)
	require.Equal(t, uint64(20), w.Rate().LossesSoFar)
	require.Equal(t, clock.Time(5), w.NextSend(5, 0, 4096))
	require.Equal(t, clock.Never, w.Deadline())
}

// TestHoles proves that single losses up to a sixteenth leave the window growing, and
// that beyond it shrinks by the share that was lost: to what a buffer takes.
func TestHoles(t *testing.T) {
	var w congestion.Window
	w.Start(0, 1024)
	w.Hole(0, 8)
	w.Acked(0, 128, 0)
	require.Equal(t, 129, w.Rate().Packets)
	w.Hole(0, 37)
	w.Acked(0, 129, 0)
	require.Equal(t, 92, w.Rate().Packets, "92 of 129 arrived")
	w.Hole(0, 1000)
	w.Acked(0, 92, 0)
	require.Equal(t, 1, w.Rate().Packets)
	require.Equal(t, clock.Never, w.NextSend(0, 1, 1024))
}

// TestWindowFindsBuffer proves that the window settles around what a receiver's buffer
// takes when all that is sent arrives at once.
func TestWindowFindsBuffer(t *testing.T) {
	for _, buffer := range []int{1, 25, 48, 92} {
		var w congestion.Window
		w.Start(0, 1024)
		for range 200 {
			sent := w.Rate().Packets
			w.Hole(0, max(sent-buffer, 0))
			w.Acked(0, sent, 0)
		}
		require.InDelta(t, buffer, w.Rate().Packets, float64(buffer)/8+1)
	}
}
