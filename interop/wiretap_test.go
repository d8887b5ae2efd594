//go:build linux

package interop

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// sighting is a RoCEv2 packet that was sent onto the wire.
type sighting struct {
	*decode.Packet
	dir    guest.Direction
	copies int // that arrived: 1, unless a fault made it another number
}

func (s *sighting) is(f bth.Flags) bool { return s.BTH.Opcode.Is(f) }

// wiretap sees every packet on a guest's wire, and loses or doubles what the fault says.
// Its methods are safe for concurrent use.
type wiretap struct {
	mu    sync.Mutex
	grown sync.Cond
	seen  []*sighting
	fault func(*sighting) (copies int) // nil: all packets pass
}

// newWiretap taps a wire.
func newWiretap(w *guest.Wire) *wiretap {
	tap := &wiretap{}
	tap.grown.L = &tap.mu
	w.SetFilter(tap.filter)
	return tap
}

func (tap *wiretap) filter(dir guest.Direction, frame []byte) (copies int) {
	p := decode.Decode(&decode.Record{Link: decode.LinkEthernet, Data: bytes.Clone(frame), Length: len(frame)})
	if p == nil {
		return 1
	}
	s := &sighting{Packet: p, dir: dir, copies: 1}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	p.Number = len(tap.seen) + 1
	if tap.fault != nil {
		s.copies = tap.fault(s)
	}
	tap.seen = append(tap.seen, s)
	tap.grown.Broadcast()
	return s.copies
}

// setFault has a function say from now on how many copies of each packet arrive. It
// is never called twice at a time.
func (tap *wiretap) setFault(f func(*sighting) (copies int)) {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.fault = f
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
		copies := s.copies
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
