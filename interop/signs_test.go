//go:build linux

package interop

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/trace"
)

// sign is a marked packet that came to a queue pair of ours, or a CNP that it sent, by the
// device's own clock.
type sign struct {
	at     clock.Time
	qpn    uint32
	opcode bth.Opcode
}

// signs are a device's tap that keeps the signs of congestion. Its methods are safe for
// concurrent use.
type signs struct {
	mu  sync.Mutex
	all []sign
}

// Packet implements trace.Tap.
func (s *signs) Packet(e *trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sign{e.Time, e.QPN, bth.Opcode(e.Frame[0][0])})
}

// of returns those of a queue pair, in the order in which the device saw them.
func (s *signs) of(qpn uint32) []sign {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(s sign) bool { return s.qpn != qpn })
}

// requireLaw holds the signs of a queue pair against the notification point's law: marked
// data is owed a CNP unless one left within the interval; no CNP leaves that is not owed;
// and none is owed in the end.
func (c marked) requireLaw(t *testing.T, all []sign) {
	t.Helper()
	if c.dcqcn == nil || !c.dcqcn.SendCNP {
		return
	}
	var last clock.Time
	var sent int
	owed := false
	for _, s := range all {
		switch {
		case s.opcode == bth.CNP:
			require.True(t, owed, "a CNP at %v, the last one at %v, that no mark asks for", s.at, last)
			last, owed = s.at, false
			sent++
		case !s.opcode.Is(bth.Ack):
			owed = owed || sent == 0 || s.at.Sub(last) >= ecn.DefaultInterval
		}
	}
	require.False(t, owed, "the last mark was answered by no CNP")
	require.NotZero(t, sent)
}
