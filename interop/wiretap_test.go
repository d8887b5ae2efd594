//go:build linux

package interop

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// sighting is a RoCEv2 packet as it was sent onto the wire, and what became of it there.
type sighting struct {
	*decode.Packet
	dir  guest.Direction
	fate fault.Fate
}

// copies is the number of them that arrived, or will.
func (s *sighting) copies() int {
	if s.fate.Drop {
		return 0
	}
	return 1 + s.fate.Copies
}

func (s *sighting) is(f bth.Flags) bool { return s.BTH.Opcode.Is(f) }

// spoilt reports whether they arrived with a bad ICRC.
func (s *sighting) spoilt() bool { return s.fate.Flipped > 0 }

// wiretap sees every packet on a guest's wire. Its methods are safe for concurrent use.
type wiretap struct {
	faults *fault.Set // the wire's

	mu    sync.Mutex
	grown sync.Cond
	seen  []*sighting
}

// newWiretap taps a wire.
func newWiretap(w *guest.Wire) *wiretap {
	tap := &wiretap{faults: &w.Faults}
	tap.grown.L = &tap.mu
	w.SetTap(tap.see)
	return tap
}

func (tap *wiretap) see(dir guest.Direction, frame []byte, fate fault.Fate) {
	p := decode.Decode(&decode.Record{Link: decode.LinkEthernet, Data: frame, Length: len(frame)})
	if p == nil {
		return
	}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	p.Number = len(tap.seen) + 1
	tap.seen = append(tap.seen, &sighting{p, dir, fate})
	tap.grown.Broadcast()
}

// mark is the place in the traffic after all that was seen so far.
func (tap *wiretap) mark() int {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return len(tap.seen)
}

// since returns what was seen after a mark.
func (tap *wiretap) since(mark int) []*sighting {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return slices.Clone(tap.seen[mark:])
}

// await waits until a packet that wanted takes is seen after a mark.
func (tap *wiretap) await(ctx context.Context, t *testing.T, mark int, wanted func(*sighting) bool) {
	t.Helper()
	stop := context.AfterFunc(ctx, func() {
		tap.mu.Lock()
		defer tap.mu.Unlock()
		tap.grown.Broadcast()
	})
	defer stop()
	tap.mu.Lock()
	defer tap.mu.Unlock()
	for next := mark; ; next++ {
		for next == len(tap.seen) {
			require.NoError(t, ctx.Err(), "the packet never came")
			tap.grown.Wait()
		}
		if wanted(tap.seen[next]) {
			return
		}
	}
}

// recorded are the packets that a recording of the wire holds: what the guest sent,
// and what arrived there.
func recorded(seen []*sighting) (packets []*decode.Packet) {
	for _, s := range seen {
		copies := s.copies()
		if s.dir == guest.FromGuest {
			copies = 1
		}
		for range copies {
			p := *s.Packet
			packets = append(packets, &p)
		}
	}
	return packets
}

// count is the number of packets that match takes.
func count(seen []*sighting, match func(*sighting) bool) (n int) {
	for _, s := range seen {
		if match(s) {
			n++
		}
	}
	return n
}
