package pingpong

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// silence is how long nothing may come until the user gets a hint.
const silence = 5 * time.Second

// watch starts to watch for silence, if anybody wants hints; stop ends that.
func (v *volley) watch() (stop func()) {
	if v.o.Hint == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(v.ctx)
	var watching sync.WaitGroup
	watching.Go(func() { hintAtSilence(ctx, &v.completed, v.o.Hint) })
	return func() { cancel(); watching.Wait() }
}

// hintAtSilence tells hint, once, if completions do not go on, and returns then or with ctx. An end
// whose peer has gone, or counts otherwise, would else wait without a word: only who
// sends learns from retries that nobody answers.
func hintAtSilence(ctx context.Context, completed *atomic.Uint64, hint func(string)) {
	tick := time.NewTicker(silence)
	defer tick.Stop()
	for seen := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := completed.Load()
		if now == seen {
			hint(fmt.Sprintf("nothing for %v: does the other end still run, with the same -s, -n and -m?", silence))
			return
		}
		seen = now
	}
}
