package congestion_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
)

// TestWindow proves the plain window: its start, growth by one per window, halving,
// that it holds at least one packet, and that
// it never paces.
func TestWindow(t *testing.T) {
	var w congestion.Window
	for pmtu, packets := range map[int]int{256: 128, 1024: 128, 2048: 96, 4096: 48} {
		w.Start(0, pmtu)
		require.Equal(t, packets, w.Rate().Packets)
	}
	w.Start(0, 4096)
	require.Equal(t, 48, w.Window())
	w.Acked(0, 47, 0)
	require.Equal(t, 48, w.Rate().Packets)
	w.Acked(0, 1, 0)
	require.Equal(t, 49, w.Rate().Packets)
	for range 20 {
		w.Lost(0)
	}
	require.Equal(t, 1, w.Window())
	require.Equal(t, congestion.Rate{Packets: 1, PathMTU: 4096, LossesSoFar: 20}, w.Rate())
	w.Sent(5, 1<<30)
	w.CNP(5)
	require.LessOrEqual(t, w.NextSend(5), clock.Time(5), "nothing is paced")
}

// ride has a window carry so many packets, of which each is lost singly if lost says so.
func ride(w *congestion.Window, packets int, lost func() bool) {
	for range packets {
		if lost() {
			w.Hole(0, 1)
		}
		w.Acked(0, 1, 0)
	}
}

// TestFirstHole proves that a single loss is taken for the window's fault where nothing is
// known of the network.
func TestFirstHole(t *testing.T) {
	var w congestion.Window
	w.Start(0, 1024)
	w.Hole(0, 1)
	require.Equal(t, 64, w.Rate().Packets)
}

// TestRandomLoss proves that the window grows in a network that loses some packets
// whatever the window is, after it has found that out.
func TestRandomLoss(t *testing.T) {
	for _, loss := range []float64{0.001, 0.01, 0.05} {
		r := rand.New(rand.NewPCG(1, 2))
		var w congestion.Window
		w.Start(0, 1024)
		ride(&w, 200_000, func() bool { return r.Float64() < loss })
		require.Greater(t, w.Rate().Packets, 128, "loss %g", loss)
	}
}

// TestOverflow proves that a window which overflows a buffer goes back to half of what
// that takes, also where the network loses packets besides, and that little more is lost
// than that.
func TestOverflow(t *testing.T) {
	for _, buffer := range []int{4, 25, 48, 92} {
		for _, loss := range []float64{0, 0.01} {
			r := rand.New(rand.NewPCG(3, 4))
			var w congestion.Window
			w.Start(0, 1024)
			const packets = 200_000
			for sent := 0; sent < packets; {
				n := w.Rate().Packets
				sent += n
				lost := max(n-buffer, 0)
				for range n {
					if r.Float64() < loss {
						lost++
					}
				}
				if lost > 0 {
					w.Hole(0, lost)
				}
				w.Acked(0, n, 0)
				require.LessOrEqual(t, w.Rate().Packets, max(128, 2*buffer))
			}
			require.LessOrEqual(t, w.Rate().Packets, buffer+buffer/4+3, "buffer %d, loss %g", buffer, loss)
			require.GreaterOrEqual(t, w.Rate().Packets, buffer/2, "buffer %d, loss %g", buffer, loss)
			if buffer > 20 {
				require.LessOrEqual(t, float64(w.Rate().LossesSoFar), packets*(2*loss+0.005), "buffer %d, loss %g", buffer, loss)
			}
		}
	}
}

// TestLessRoom proves that a window follows when there is less room than there was.
func TestLessRoom(t *testing.T) {
	var w congestion.Window
	w.Start(0, 1024)
	for _, buffer := range []int{120, 80, 40, 10} {
		for range 400 {
			n := w.Rate().Packets
			if n > buffer {
				w.Hole(0, n-buffer)
			}
			w.Acked(0, n, 0)
		}
		require.LessOrEqual(t, w.Rate().Packets, buffer+buffer/4+1)
	}
}
