package nic

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
)

var (
	mac1 = wire.MAC{2, 0, 0, 0, 0, 1}
	mac2 = wire.MAC{2, 0, 0, 0, 0, 2}
	mac3 = wire.MAC{2, 0, 0, 0, 0, 3}
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func testDevice(index int) *device {
	d := &device{index: index, name: "eth0"}
	d.set(mac1, true)
	return d
}

func (s *peers) testAdd(d *device, next string, path wire.Path, mac wire.MAC) *Peer {
	nb, changes := s.hold(hopKey{d.index, addr(next)})
	defer s.release(nb)
	return s.add(nb, d, path, mac, changes)
}

// macs are the source and destination of a peer's frames.
func macs(p *Peer) (src, dst wire.MAC) {
	var b [wire.MaxHeadersLen]byte
	p.Template().Put(b[:], 0, 0)
	return wire.MAC(b[6:]), wire.MAC(b[:])
}

// Peers behind one gateway move together, and those behind others stay.
func TestPeersMove(t *testing.T) {
	var s peers
	d := testDevice(1)
	path := func(dst string) wire.Path { return wire.Path{Src: addr("10.0.0.1"), Dst: addr(dst)} }
	near := s.testAdd(d, "10.0.0.2", path("10.0.0.2"), mac2)
	far := s.testAdd(d, "10.0.0.9", path("192.0.2.1"), mac2)
	far2 := s.testAdd(d, "10.0.0.9", path("192.0.2.1"), mac2)
	far3 := s.testAdd(d, "10.0.0.9", path("192.0.2.3"), mac2)

	require.Equal(t, []netip.Addr{addr("192.0.2.1"), addr("192.0.2.3")}, s.move(hopKey{1, addr("10.0.0.9")}, mac3))
	require.Empty(t, s.move(hopKey{1, addr("10.0.0.9")}, mac3), "no news")
	require.Empty(t, s.move(hopKey{2, addr("10.0.0.2")}, mac3), "another interface")
	for _, p := range []*Peer{far, far2, far3} {
		src, dst := macs(p)
		require.Equal(t, [2]wire.MAC{mac1, mac3}, [2]wire.MAC{src, dst})
	}
	_, dst := macs(near)
	require.Equal(t, mac2, dst)

	d.set(mac3, true)
	s.renew()
	src, dst := macs(near)
	require.Equal(t, [2]wire.MAC{mac3, mac2}, [2]wire.MAC{src, dst})
	runtime.KeepAlive(far2)
	runtime.KeepAlive(far3)
}

// What the kernel told after it was asked is newer than its answer.
func TestAnswerOlderThanChange(t *testing.T) {
	var s peers
	d, key := testDevice(1), hopKey{1, addr("10.0.0.2")}
	nb, changes := s.hold(key)
	require.Empty(t, s.move(key, mac3), "nobody to move yet")
	p := s.add(nb, d, wire.Path{Src: addr("10.0.0.1"), Dst: key.next}, mac2, changes)
	s.release(nb)
	_, dst := macs(p)
	require.Equal(t, mac3, dst)
}

// That holds also where the neighbour is only looked for again.
func TestFindingOlderThanChange(t *testing.T) {
	var s peers
	d, key := testDevice(1), hopKey{1, addr("10.0.0.2")}
	p := s.testAdd(d, "10.0.0.2", wire.Path{Src: addr("10.0.0.1"), Dst: key.next}, mac2)
	nb := s.find(key)
	changes := s.changesOf(nb)
	require.Equal(t, []netip.Addr{key.next}, s.move(key, mac3), "told after the kernel was asked")
	require.Empty(t, s.found(nb, mac2, changes))
	_, dst := macs(p)
	require.Equal(t, mac3, dst)
	require.Equal(t, []netip.Addr{key.next}, s.found(nb, mac2, s.changesOf(nb)))
}

// Peers that no path refers to any more are forgotten, and so are their neighbours.
func TestPeersAreForgotten(t *testing.T) {
	var s peers
	d := testDevice(1)
	const many = 100_000
	kept := s.testAdd(d, "10.0.0.2", wire.Path{Src: addr("10.0.0.1"), Dst: addr("10.0.0.2")}, mac2)
	known, largest := 0, 0
	for i := range many {
		next := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String()
		s.testAdd(d, next, wire.Path{Src: addr("10.0.0.1"), Dst: addr(next)}, mac2)
		if i%1000 == 0 {
			runtime.GC()
		}
		known = len(s.neighbours)
		largest = max(largest, known)
	}
	require.Less(t, largest, 10_000)
	require.Equal(t, []netip.Addr{addr("10.0.0.2")}, s.move(hopKey{1, addr("10.0.0.2")}, mac3))
	runtime.KeepAlive(kept)
	t.Logf("%d resolved, at most %d neighbours known", many, largest)
}

// A neighbour that did not answer is not kept.
func TestUnansweredNeighbourIsForgotten(t *testing.T) {
	var s peers
	nb, _ := s.hold(hopKey{1, addr("10.0.0.2")})
	s.release(nb)
	require.Empty(t, s.neighbours)
}

// The way to the own host is looked after as long as a path refers to it.
func TestOwnPathsAreCounted(t *testing.T) {
	l, err := udp.Open(addr("127.73.0.1"), udp.OwnHost())
	require.NoError(t, err)
	defer l.Close()
	host, err := hostnet.NewHandle()
	require.NoError(t, err)
	defer host.Close()
	o := &ownHost{link: l, queue: l.Queue()}
	path := func() *wire.Path {
		p := &wire.Path{Src: addr("127.73.0.1"), Dst: addr("127.73.0.2"), VLAN: 1}
		require.NoError(t, o.resolve(host, p))
		require.Zero(t, p.VLAN)
		return p
	}
	kept := path()
	for range 99 {
		path()
	}
	require.Positive(t, o.paths.Load())
	for o.paths.Load() > 1 { // forgotten some time after a collection
		runtime.GC()
	}
	require.Equal(t, int32(1), o.paths.Load())
	runtime.KeepAlive(kept)
}
