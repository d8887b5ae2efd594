package pingpong

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// While something comes there is no hint; then there is one, and only one.
func TestSilenceGetsOneHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var completed atomic.Uint64
		hints := make(chan string, 2)
		go hintAtSilence(t.Context(), &completed, func(s string) { hints <- s })
		for range 10 {
			completed.Add(1)
			time.Sleep(silence - time.Second) // virtual time
		}
		synctest.Wait()
		require.Empty(t, hints)
		time.Sleep(10 * silence)
		synctest.Wait()
		require.Len(t, hints, 1)
		require.Equal(t, "nothing for 5s: does the other end still run, with the same -s, -n and -m?", <-hints)
	})
}

// The watch ends with its run.
func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hintAtSilence(ctx, new(atomic.Uint64), func(s string) { require.Fail(t, s) })
}
