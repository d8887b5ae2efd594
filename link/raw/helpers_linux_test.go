package raw

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// resolved is a path of a link.
func resolved(t testing.TB, l link.Link, src, dst string) *wire.Path {
	t.Helper()
	p := &wire.Path{Src: addr(src), Dst: addr(dst), SrcPort: 0xc123}
	require.NoError(t, l.Resolve(p))
	p.Prepare()
	return p
}

// put reserves and seals one packet with a header made of tag, and n bytes of payload.
func put(q link.Queue, p *wire.Path, tag byte, n int) {
	var s link.Slot
	q.Reserve(p, 12, [][]byte{bytes.Repeat([]byte{tag}, n)}, -n&3, true, &s)
	for i := range s.Head {
		s.Head[i] = tag
	}
	p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
}

func flush(t testing.TB, q link.Queue) {
	t.Helper()
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Zero(t, pending)
}

// patience ends a test that would hang: no test succeeds by it.
const patience = 2 * time.Minute

// await receives until n packets came, parking in between, and returns copies.
func await(t testing.TB, q link.Queue, n int) (packets [][]byte) {
	t.Helper()
	end := q.Now().Add(patience)
	rx := make([]link.Rx, 64)
	for len(packets) < n {
		got := q.Recv(rx)
		for i := range rx[:got] {
			eachPacket(&rx[i], func(p []byte) { packets = append(packets, bytes.Clone(p)) })
		}
		q.Release()
		if got == 0 {
			if q.Now() >= end {
				t.Fatalf("%d packets of %d arrived", len(packets), n)
			}
			q.Arm(end, link.Interest{Rx: true})
			q.Park()
			q.Disarm()
		}
	}
	return packets
}

// eachPacket calls f for every packet of a frame in one piece.
func eachPacket(rx *link.Rx, f func(p []byte)) {
	b := rx.Frag[0]
	for rx.Seg > 0 && len(b) > rx.Seg {
		f(b[:rx.Seg])
		b = b[rx.Seg:]
	}
	f(b)
}

// counter is the value of one of a link's counters.
func counter(l link.Counted, name string) uint64 {
	for _, c := range l.Counters() {
		if c.Name == name {
			return c.Value
		}
	}
	return 0
}

// macOf is the MAC of an interface.
func macOf(ns namespace, ifname string) (mac wire.MAC) {
	ns.t.Helper()
	ns.do(func() {
		itf, err := netlink.LinkByName(ifname)
		require.NoError(ns.t, err)
		mac = wire.MAC(itf.Attrs().HardwareAddr)
	})
	return mac
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
