package link_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// E09: messages of a byte less than a path MTU, as much, and a byte more, for each path
// MTU on links of several MTUs, arrive over every link; a path MTU that does not fit is
// refused, and the error has the link MTU that is needed. On the wire no packet has
// more payload than the path MTU, all of the middle ones have as much, DF is set and
// nothing is a fragment.
func TestPathMTUOnTheWire(t *testing.T) {
	seed := testenv.Seed(t)
	for _, linkMTU := range []int{1500, 4200, 9000} {
		for _, name := range slices.Sorted(maps.Keys(openers)) {
			t.Run(fmt.Sprintf("%s, link MTU %d", name, linkMTU), func(t *testing.T) {
				street := netnstest.NewStreet(t, netns.Options{MTU: linkMTU})
				singly(t, street.A)
				seen := openTap(t, street.B)
				x, y := newEnd(t, openers[name], street.A), newEnd(t, openers["udp"], street.B)
				rnd := rand.New(rand.NewPCG(seed, uint64(linkMTU)))
				messages := 0
				for mtu := 256; mtu <= link.MaxPayload; mtu *= 2 {
					if mtu > link.PathMTU(linkMTU) {
						requireRefused(t, x, y, street, mtu, linkMTU)
						continue
					}
					reconnect(t, x, y, street, mtu)
					seen.frames()
					for _, size := range []int{mtu - 1, mtu, mtu + 1} {
						exchangeBothWays(t, x, y, size, rnd)
						requireCut(t, seen.frames(), street.A, linkMTU, mtu, size)
						messages++
					}
				}
				t.Logf("%d sizes, each as SEND, WRITE and READ response", messages)
				x.requireNoBadICRC()
				y.requireNoBadICRC()
			})
		}
	}
}

func requireRefused(t *testing.T, x, y *end, s *netns.Street, mtu, linkMTU int) {
	t.Helper()
	resetAll(t, x, y)
	peer := y.qp.Info()
	peer.MTU = link.MaxPayload
	err := s.A.Do(func() error { return x.qp.Connect(peer, roce.WithPathMTU(mtu)) })
	require.ErrorContains(t, err, fmt.Sprintf("a link MTU of %d bytes is needed, it has %d", mtu+96, linkMTU))
}

// reconnect connects two ends anew, with a path MTU.
func reconnect(t *testing.T, x, y *end, s *netns.Street, mtu int) {
	t.Helper()
	resetAll(t, x, y)
	opts := []roce.ConnectOption{roce.WithPathMTU(mtu), roce.WithRetry(18, roce.DefaultRetryCount, roce.DefaultRNRRetry)}
	require.NoError(t, s.A.Do(func() error { return x.qp.Connect(y.qp.Info(), opts...) }))
	require.NoError(t, s.B.Do(func() error { return y.qp.Connect(x.qp.Info(), opts...) }))
}

func resetAll(t *testing.T, ends ...*end) {
	t.Helper()
	for _, e := range ends {
		require.NoError(t, e.qp.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
	}
}

// exchangeBothWays sends and writes a message from x to y, and has y read one of x's.
func exchangeBothWays(t *testing.T, x, y *end, size int, rnd *rand.Rand) {
	t.Helper()
	_, err := y.qp.PostRecv(roce.RecvWR{SGE: y.mr.SGE(0, size)})
	require.NoError(t, err)
	moved(t, x, y, size, rnd, func() {
		post(t, x, roce.SendWR{Op: roce.OpSend, SGE: x.mr.SGE(0, size)})
		y.reap(func(wc *roce.WC) { require.EqualValues(t, size, wc.ByteLen) })
	})
	writeOne(t, x, y, size, rnd)
	moved(t, x, y, size, rnd, func() {
		r := x.mr.Remote()
		post(t, y, roce.SendWR{Op: roce.OpRead, SGE: y.mr.SGE(0, size), RemoteAddr: r.Addr, RKey: r.Key})
	})
}

// writeOne writes a message from x to y.
func writeOne(t *testing.T, x, y *end, size int, rnd *rand.Rand) {
	t.Helper()
	moved(t, x, y, size, rnd, func() {
		r := y.mr.Remote()
		post(t, x, roce.SendWR{Op: roce.OpWrite, SGE: x.mr.SGE(0, size), RemoteAddr: r.Addr, RKey: r.Key})
	})
}

// moved fills x's memory, and compares y's with it after f.
func moved(t *testing.T, x, y *end, size int, rnd *rand.Rand, f func()) {
	t.Helper()
	const around = 8 // what lies behind must stay as it is
	clear(y.mr.Bytes()[:size+around])
	for i := range x.mr.Bytes()[:size] {
		x.mr.Bytes()[i] = byte(rnd.Uint32())
	}
	f()
	require.True(t, slices.Equal(x.mr.Bytes()[:size], y.mr.Bytes()[:size]), "%d bytes", size)
	require.Equal(t, make([]byte, around), y.mr.Bytes()[size:size+around])
}

// post posts a request and waits for its end.
func post(t *testing.T, e *end, wr roce.SendWR) {
	t.Helper()
	wr.Flags = roce.Signaled
	_, err := e.qp.PostSend(wr)
	require.NoError(t, err)
	e.reap(func(*roce.WC) {})
}

// requireCut fails unless the frames of a host carry a message of size bytes, in packets
// that the path MTU allows, three times: as SEND, WRITE and READ response.
func requireCut(t *testing.T, frames []frame, from *netns.Host, linkMTU, mtu, size int) {
	t.Helper()
	var payloads []int
	for _, f := range frames {
		ip, v6, ok := f.isIP()
		if !ok || v6 {
			continue
		}
		require.LessOrEqual(t, int(binary.BigEndian.Uint16(ip[2:])), linkMTU)
		require.Equal(t, uint16(wire.DontFragment), binary.BigEndian.Uint16(ip[6:]), "flags and fragment offset")
		parsed, err := wire.ParseFrame(f.bytes)
		require.NoError(t, err)
		require.Equal(t, from.IPv4, parsed.Src)
		require.True(t, wire.VerifyICRC(parsed.Src, parsed.Dst, parsed.SrcPort, parsed.Flags, parsed.ID, [2][]byte{parsed.Payload}))
		var p bth.Packet
		require.NoError(t, p.Parse(parsed.Payload[:len(parsed.Payload)-wire.ICRCLen], nil))
		if n := len(p.Payload[0]) + len(p.Payload[1]); n > 0 {
			payloads = append(payloads, n)
		}
	}
	want := []int{size}
	if size > mtu {
		want = []int{mtu, size - mtu}
	}
	require.Equal(t, slices.Repeat(want, 3), payloads)
}

// E09: fragments that come in, which no sender of RoCEv2 makes: raw and xdp leave them to
// the host; the kernel's UDP puts them together, and the ICRC judges what they are then.
// What comes after them is not harmed.
func TestFragmentsAreNoPackets(t *testing.T) {
	for name, received := range map[string]uint64{"udp": 1, "raw": 0, "xdp": 0} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 1500})
			x, y := newEnd(t, openers["udp"], s.A), newEnd(t, openers[name], s.B)
			reconnect(t, x, y, s, 1024)
			seen := openTap(t, s.B)
			rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
			sendUDP(t, s.A, netip.AddrPortFrom(s.B.IPv4, wire.Port), string(make([]byte, 3000)))
			writeOne(t, x, y, 2000, rnd)
			require.Equal(t, 3, fragments(seen.frames()))
			counts := map[string]uint64{}
			for _, c := range y.dev.Stats() {
				counts[c.Name] = c.Value
			}
			require.Equal(t, received, counts["received: "+transport.RuleICRC.String()], "%v", counts)
			require.Equal(t, received+2, counts["packets received"])
		})
	}
}

// fragments counts the frames that have one.
func fragments(frames []frame) (n int) {
	for _, f := range frames {
		ip, v6, ok := f.isIP()
		if ok && !v6 && binary.BigEndian.Uint16(ip[6:])&^wire.DontFragment != 0 {
			n++
		}
	}
	return n
}
