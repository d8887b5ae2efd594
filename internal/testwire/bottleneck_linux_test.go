package testwire

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/trace/decode"
	"github.com/rocinante-rdma/roce/wire"
)

func newBottleneck(t *testing.T, o BottleneckOptions) *Bottleneck {
	t.Helper()
	testenv.Need(t, testenv.Netns)
	b, err := NewBottleneck(o)
	require.NoError(t, err)
	return b
}

// Packets of the tests: with IPv4 around them they are frameSize long.
const packetSize, frameSize = 1000, wire.EthernetLen + wire.IPv4Len + wire.UDPLen + packetSize

// addrOf is an address of a host.
func addrOf(h *netns.Host, v6 bool) netip.Addr {
	if v6 {
		return h.IPv6
	}
	return h.IPv4
}

// Two hosts send at once, over both IP protocols: all arrives, each host's packets in
// order, and by then no more has left than the rate gives.
func TestBottleneckKeepsTheRate(t *testing.T) {
	const packets, rate = 40, 50e6
	b := newBottleneck(t, BottleneckOptions{Senders: 2, Egress: EgressOptions{Rate: rate, Buffer: 1 << 20}})
	for i, v6 := range []bool{false, true} {
		to := socket(t, b.Receiver, addrOf(b.Receiver, v6))
		from := []*net.UDPConn{
			socket(t, b.Senders[0], addrOf(b.Senders[0], v6)),
			socket(t, b.Senders[1], addrOf(b.Senders[1], v6)),
		}
		before, begun := b.Counts(), clock.Now()
		for _, c := range from {
			sendSuper(t, c, addrOf(b.Receiver, v6), packets, packetSize)
		}
		got := psns(t, to, 2*packets, packetSize)
		elapsed, c := clock.Now().Sub(begun), b.Counts()
		t.Logf("IPv6 %t: %d bytes in %v: %.1f Mb/s", v6, c.Bytes-before.Bytes, elapsed, float64(c.Bytes-before.Bytes)*8/elapsed.Seconds()/1e6)
		require.LessOrEqual(t, float64(c.Bytes-before.Bytes)*8, rate*elapsed.Seconds())
		require.EqualValues(t, (i+1)*2*packets, c.Forwarded)
		for psn := range uint32(packets) {
			require.Equal(t, 2, count(got, psn), "PSN %d", psn)
		}
	}
	require.NoError(t, b.Close())
}

func count(list []uint32, v uint32) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(u uint32) bool { return u != v }))
}

// Of a super-frame the buffer takes the first 20 packets; those that leave 10 or more
// behind are marked, and arrive. The capture has what left, as it left.
func TestBottleneckDropsAndMarks(t *testing.T) {
	var file bytes.Buffer
	b := newBottleneck(t, BottleneckOptions{Senders: 2, Capture: &file, Egress: EgressOptions{
		Rate: 50e6, Buffer: 20 * frameSize,
		RED: &ecn.RED{Kmin: 10*frameSize - 1, Kmax: 10*frameSize - 1, Pmax: 1},
	}})
	to, from := socket(t, b.Receiver, b.Receiver.IPv4), socket(t, b.Senders[1], b.Senders[1].IPv4)
	sendECT(t, from)
	sendSuper(t, from, b.Receiver.IPv4, 60, packetSize)
	require.Equal(t, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
		psns(t, to, 20, packetSize))
	require.NoError(t, b.Close())
	require.Equal(t, EgressCounts{
		Forwarded: 20, Bytes: 20 * (frameSize + ethernetOverhead), Marked: 10, Dropped: 40,
		MaxQueue: 20 * frameSize, MeanQueue: 9.5 * frameSize,
	}, b.Counts())

	r, err := decode.NewReader("capture", &file)
	require.NoError(t, err)
	for psn := range 20 {
		rec, err := r.Next()
		require.NoError(t, err)
		p := decode.Decode(&rec)
		require.EqualValues(t, psn, p.BTH.PSN)
		require.Equal(t, psn < 10, wire.ECNOf(p.TrafficClass) == wire.CE, "packet %d", psn)
	}
}

// sendECT has a socket send ECT(0).
func sendECT(t *testing.T, c *net.UDPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TOS, int(wire.ECT0))
	}))
	require.NoError(t, err)
}

// What is no RoCEv2 packet, and what goes elsewhere than to the receiver, does not pass
// the queue: it would take hours at this rate.
func TestBottleneckIsOneWay(t *testing.T) {
	b := newBottleneck(t, BottleneckOptions{Senders: 2, Egress: EgressOptions{Rate: 8, Buffer: 1}})
	for _, v6 := range []bool{false, true} {
		carry(t, b.Senders[0], b.Receiver, addrOf(b.Receiver, v6))
		one, other := socket(t, b.Senders[0], addrOf(b.Senders[0], v6)), socket(t, b.Senders[1], addrOf(b.Senders[1], v6))
		sendSuper(t, socket(t, b.Receiver, addrOf(b.Receiver, v6)), addrOf(b.Senders[0], v6), 30, packetSize)
		require.Len(t, psns(t, one, 30, packetSize), 30)
		sendSuper(t, one, addrOf(b.Senders[1], v6), 30, packetSize)
		require.Len(t, psns(t, other, 30, packetSize), 30)
	}
	require.NoError(t, b.Close())
	require.Equal(t, EgressCounts{}, b.Counts())
}

// A closed bottleneck leaves neither descriptors nor goroutines, even while packets wait
// in it for hours.
func TestBottleneckLeavesNothing(t *testing.T) {
	o := BottleneckOptions{Senders: 2, Egress: EgressOptions{Rate: 8, Buffer: 1 << 20}}
	require.NoError(t, newBottleneck(t, o).Close()) // what is opened once for all
	const rounds = 5
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range rounds {
		b := newBottleneck(t, o)
		b.queue([][]byte{frameOf(paths[0], 1)})
		require.NoError(t, b.Close())
		require.Zero(t, b.Counts().Forwarded)
	}
	// A leak is one for each round. A goroutine that has done all may still be ending.
	require.Equal(t, files, openFiles(t))
	require.Less(t, runtime.NumGoroutine(), goroutines+rounds)
}

// full is a disk with no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestBottleneckOptions(t *testing.T) {
	_, err := NewBottleneck(BottleneckOptions{Senders: 2})
	require.ErrorContains(t, err, "rate")
	_, err = NewBottleneck(BottleneckOptions{Capture: full{}, Egress: EgressOptions{Rate: 1, Buffer: 1}})
	require.ErrorContains(t, err, "disk full")
	_, err = NewBottleneck(BottleneckOptions{Senders: 26, Egress: EgressOptions{Rate: 1, Buffer: 1}})
	require.ErrorContains(t, err, "27 hosts")
}
