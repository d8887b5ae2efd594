package simnet_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// shape says which packets came together: "[0 1 2] 3".
func shape(frames [][]string) string {
	list := make([]string, len(frames))
	for i, f := range frames {
		list[i] = strings.Join(f, " ")
		if len(f) > 1 {
			list[i] = "[" + list[i] + "]"
		}
	}
	return strings.Join(list, " ")
}

// burst sends packets of some payload lengths at once, PSN 0, 1, 2 ….
func (h *host) burst(payloads ...int) {
	for psn, n := range payloads {
		h.plan = append(h.plan, shot{0, bth.Packet{Opcode: bth.RCSendOnly, PSN: bth.PSN(psn), DestQP: h.qpn}, n})
	}
}

// TestSuperFrames: what joins, and what the faults, which meet single packets, make
// of it; in fragments or whole.
func TestSuperFrames(t *testing.T) {
	third := simnet.Match{PSN: new(bth.PSN(2))}
	equal := []int{64, 64, 64, 64, 64}
	joins := []simnet.LinkOption{simnet.SuperFrames(9)}
	for _, c := range []struct {
		name     string
		opts     []simnet.LinkOption
		payloads []int
		fault    func(simnet.Match) *simnet.Fault
		want     string
	}{
		{"not without the option", nil, equal, nil, "0 1 2 3 4"},
		{"equal", joins, equal, nil, "[0 1 2 3 4]"},
		{"at most three", []simnet.LinkOption{simnet.SuperFrames(3)}, equal, nil, "[0 1 2] [3 4]"},
		{"a shorter one is the last", joins, []int{64, 64, 60, 60, 64}, nil, "[0 1 2] 3 4"},
		{"a longer one begins another", joins, []int{4, 64, 64}, nil, "0 [1 2]"},
		{"at most 64 KiB", []simnet.LinkOption{simnet.SuperFrames(99), simnet.MTU(9000)},
			[]int{4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080, 4080}, nil,
			"[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]"},
		{"one is lost", joins, equal, simnet.Drop, "[0 1] [3 4]"},
		{"one is lost, hidden", []simnet.LinkOption{simnet.SuperFrames(9), simnet.HiddenIDs()}, equal, simnet.Drop, "[0 1 3 4]"},
		{"one is doubled", joins, equal, simnet.Duplicate, "[0 1 2] [2 3 4]"},
		{"one is damaged", joins, equal, func(m simnet.Match) *simnet.Fault { return simnet.Corrupt(m, -1) }, "[0 1 2! 3 4]"},
		{"one is marked", joins, equal, simnet.MarkCE, "[0 1] 2* [3 4]"},
		{"two change places", joins, equal, func(m simnet.Match) *simnet.Fault { return simnet.Reorder(m, 1) }, "[0 1] 3 2 4"},
	} {
		for _, opts := range [][]simnet.LinkOption{c.opts, append([]simnet.LinkOption{simnet.Fragments()}, c.opts...)} {
			w, a, b := pair(testenv.Seed(t), opts...)
			ha, hb := join(t, w, a, b)
			ha.burst(c.payloads...)
			if c.fault != nil {
				w.Faults.Add(c.fault(third))
			}
			require.NoError(t, w.Run(clock.Never))
			require.Equal(t, c.want, shape(hb.frames), c.name)
		}
	}
}

// TestFragments: frames are cut at every place but within headers, each fragment is
// memory of its own, and all of it is wiped after Release.
func TestFragments(t *testing.T) {
	const headers, packet = bth.BTHLen, bth.BTHLen + 16 + wire.ICRCLen
	w, a, b := pair(testenv.Seed(t), simnet.SuperFrames(2), simnet.Fragments())
	h := &host{q: a.Queue(), path: pathTo(t, a, b)}
	var rx [2]link.Rx
	places := map[int]bool{}
	for range 1000 {
		h.burst(16, 16)
		h.Poll()
		require.NoError(t, w.Run(clock.Never))
		require.Equal(t, 1, b.Queue().Recv(rx[:]))
		require.Equal(t, packet, rx[0].Seg)
		front, back := rx[0].Frag[0], rx[0].Frag[1]
		require.Equal(t, 2*packet, len(front)+len(back))
		places[len(front)] = true
		b.Queue().Release()
		require.Equal(t, 2*packet, bytes.Count(front, []byte{0xdb})+bytes.Count(back, []byte{0xdb}))
	}
	for at := range 2*packet + 1 {
		within := at%packet < headers && at != packet && at != 2*packet
		require.Equal(t, !within, places[at], "cut at %d", at)
	}
}

// TestInjectSuper: what a hostile peer says of its packets arrives as it is.
func TestInjectSuper(t *testing.T) {
	w, a, b := pair(1, simnet.SuperFrames(9))
	for _, seg := range []int{-1, 0, 1, 7, 1 << 30} {
		a.InjectSuper(link.Meta{Src: addrA, Dst: addrB}, []byte("hostile"), seg)
		require.NoError(t, w.Run(clock.Never))
		var rx [2]link.Rx
		require.Equal(t, 1, b.Queue().Recv(rx[:]))
		require.Equal(t, seg, rx[0].Seg)
		require.Equal(t, "hostile", string(rx[0].Frag[0]))
		b.Queue().Release()
	}
}
