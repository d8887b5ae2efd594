package raw

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// expectEvent takes events of a link until one of a kind comes. One that does not come
// is a failure after much longer than any of them takes.
func expectEvent(t *testing.T, l *Link, kind link.EventKind) link.Event {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case e := <-l.Events():
			t.Log(e)
			if e.Kind == kind {
				return e
			}
		case <-late:
			t.Fatal("the event did not come")
		}
	}
}

func change(ns namespace, f func() error) {
	ns.t.Helper()
	ns.do(func() { require.NoError(ns.t, f()) })
}

// setMAC gives an interface a new MAC.
func setMAC(ns namespace, ifname string, mac wire.MAC) {
	ns.t.Helper()
	change(ns, func() error {
		itf, err := netlink.LinkByName(ifname)
		if err != nil {
			return err
		}
		return netlink.LinkSetHardwareAddr(itf, mac[:])
	})
}

// A peer that gets another MAC is reached again as soon as the kernel knows, without
// a new Resolve: because the peer speaks, or because the kernel forgot it and the link
// has it asked for again.
func TestPeerMoves(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		learn      func(of, by namespace, ofIf, byIf, ofAddr, byAddr string)
	}{
		{"IPv4, it speaks", "10.9.0.1", "10.9.0.2", speak},
		{"IPv4, forgotten", "10.9.0.1", "10.9.0.2", forget},
		{"IPv6, forgotten", "fd09::1", "fd09::2", forget},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newNetwork(t, 1500)
			a, b := w.openA(), w.openB()
			ab, ba := resolved(t, a, c.a, c.b), resolved(t, b, c.b, c.a)
			exchange(t, a, b, ab, ba)

			setMAC(w.b, "vb", wire.MAC{2, 1, 1, 1, 1, 1})
			c.learn(w.b, w.a, "vb", "va", c.b, c.a)
			knowsMAC(t, b, c.b, c.a, wire.MAC{2, 1, 1, 1, 1, 1})
			require.Equal(t, addr(c.b), expectEvent(t, a, link.PeerMoved).Addr)
			exchange(t, a, b, ab, ba)
			require.Zero(t, counter(b, "nic: dropped, not for the interface's MAC"))

			setMAC(w.a, "va", wire.MAC{2, 2, 2, 2, 2, 2})
			c.learn(w.a, w.b, "va", "vb", c.a, c.b)
			knowsMAC(t, a, c.a, c.b, wire.MAC{2, 2, 2, 2, 2, 2})
			require.Equal(t, addr(c.a), expectEvent(t, b, link.PeerMoved).Addr)
			exchange(t, a, b, ab, ba)
		})
	}
}

// knowsMAC waits until a link has noticed that its interface has another MAC.
func knowsMAC(t *testing.T, l *Link, src, dst string, mac wire.MAC) {
	t.Helper()
	for end := l.queue.Now().Add(patience); resolved(t, l, src, dst).SrcMAC != mac; {
		if l.queue.Now() >= end {
			t.Fatal("the link still sends from its old MAC")
		}
	}
}

// speak has a host send a datagram to its neighbour: it asks for that one's MAC, and
// by that tells its own.
func speak(of, by namespace, _, byIf, ofAddr, byAddr string) {
	of.t.Helper()
	// Also in the second after the neighbour learned the old one.
	change(by, func() error { return os.WriteFile("/proc/sys/net/ipv4/neigh/"+byIf+"/locktime", []byte("0"), 0) })
	change(of, func() error {
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr(ofAddr), 0)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr(byAddr), 9)))
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("hello"))
		return err
	})
}

// forget has the kernel of a host's neighbour forget the host.
func forget(_, by namespace, _, byIf, ofAddr, _ string) {
	by.t.Helper()
	change(by, func() error {
		itf := must(netlink.LinkByName(byIf))
		return netlink.NeighDel(&netlink.Neigh{LinkIndex: itf.Attrs().Index, IP: addr(ofAddr).AsSlice()})
	})
}

// exchange sends packets to and fro.
func exchange(t *testing.T, a, b *Link, ab, ba *wire.Path) {
	t.Helper()
	for tag := range byte(10) {
		exchangeOnce(t, a, b, ab, ba, tag)
	}
}

func exchangeOnce(t *testing.T, a, b *Link, ab, ba *wire.Path, tag byte) {
	t.Helper()
	put(a.queue, ab, tag, 64)
	flush(t, a.queue)
	require.Equal(t, tag, await(t, b.queue, 1)[0][0])
	put(b.queue, ba, tag, 64)
	flush(t, b.queue)
	require.Equal(t, tag, await(t, a.queue, 1)[0][0])
}

// A link that goes down says so, loses packets without failing, and works on when the
// interface is up again.
func TestDownAndUp(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	ab, ba := resolved(t, a, "10.9.0.1", "10.9.0.2"), resolved(t, b, "10.9.0.2", "10.9.0.1")
	exchange(t, a, b, ab, ba)
	require.Equal(t, link.Active, a.State())
	for range 2 {
		change(w.a, func() error { return netlink.LinkSetDown(must(netlink.LinkByName("va"))) })
		expectEvent(t, a, link.PortDown)
		expectEvent(t, b, link.PortDown) // the cable has no carrier
		require.Equal(t, link.Down, a.State())

		before := counter(a, lostWhileDown)
		for tag := range byte(10) {
			put(a.queue, ab, tag, 64)
		}
		flush(t, a.queue)
		require.Equal(t, before+10, counter(a, lostWhileDown))
		err := a.Resolve(&wire.Path{Dst: addr("10.9.0.2")})
		require.ErrorContains(t, err, "va is down")
		t.Log(err)

		change(w.a, func() error { return netlink.LinkSetUp(must(netlink.LinkByName("va"))) })
		expectEvent(t, a, link.PortActive)
		expectEvent(t, b, link.PortActive)
		exchange(t, a, b, ab, ba)
	}
}

const lostWhileDown = "raw: not sent, the interface was down"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What comes for an address that was removed is dropped, until it is back. A new path
// is refused meanwhile.
func TestAddressRemoved(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	ab, ba := resolved(t, a, "10.9.0.3", "10.9.0.2"), resolved(t, b, "10.9.0.2", "10.9.0.3")
	exchange(t, a, b, ab, ba)
	change(w.a, func() error {
		return netlink.AddrDel(must(netlink.LinkByName("va")), must(netlink.ParseAddr("10.9.0.3/24")))
	})
	require.Equal(t, addr("10.9.0.3"), expectEvent(t, a, link.AddrRemoved).Addr)
	require.Equal(t, link.Active, a.State())
	err := a.Resolve(&wire.Path{Src: addr("10.9.0.3"), Dst: addr("10.9.0.2")})
	require.ErrorContains(t, err, "10.9.0.3 was removed from va")
	t.Log(err)

	other := resolved(t, b, "10.9.0.2", "10.9.0.1")
	put(b.queue, ba, 1, 64)
	put(b.queue, other, 2, 64)
	flush(t, b.queue)
	require.Equal(t, byte(2), await(t, a.queue, 1)[0][0])
	require.Equal(t, uint64(1), counter(a, "nic: dropped, for an address that was removed"))

	w.a.do(func() { addAddresses(t, "va", "10.9.0.3/24") })
	require.Equal(t, addr("10.9.0.3"), expectEvent(t, a, link.AddrAdded).Addr)
	exchange(t, a, b, ab, ba)
}

// A deleted interface ends the link: a clear error from Flush and Resolve, and a clean
// Close. A new interface of the same name takes a new link.
func TestInterfaceDeleted(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	ab, ba := resolved(t, a, "10.9.0.1", "10.9.0.2"), resolved(t, b, "10.9.0.2", "10.9.0.1")
	exchange(t, a, b, ab, ba)
	change(w.a, func() error { return netlink.LinkDel(must(netlink.LinkByName("va"))) })
	for _, l := range []*Link{a, b} {
		expectEvent(t, l, link.DeviceGone)
		require.Equal(t, link.Gone, l.State())
	}
	put(a.queue, ab, 1, 64)
	pending, err := a.queue.Flush()
	require.ErrorContains(t, err, "va was deleted")
	require.Zero(t, pending)
	t.Log(err)
	err = a.Resolve(&wire.Path{Dst: addr("10.9.0.2")})
	require.ErrorContains(t, err, "va was deleted")
	t.Log(err)
	require.Zero(t, a.queue.Recv(make([]link.Rx, 4)))
	require.NoError(t, a.Close())
	_, open := <-a.Events()
	require.False(t, open)
}

// A changed MTU is an event; packets that are now too long are lost and counted.
func TestMTUChanged(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	ab := resolved(t, a, "10.9.0.1", "10.9.0.2")
	change(w.a, func() error { return netlink.LinkSetMTU(must(netlink.LinkByName("va")), 1000) })
	require.Equal(t, 1000, expectEvent(t, a, link.MTUChanged).MTU)
	require.Equal(t, 1500, a.MTU(), "that of its opening")
	put(a.queue, ab, 1, 1024)
	put(a.queue, ab, 2, 64)
	a.port.giveUpSuperFrames()
	flush(t, a.queue)
	require.Equal(t, byte(2), await(t, b.queue, 1)[0][0])
	require.Equal(t, uint64(1), counter(a, "raw: not sent, larger than the interface's MTU"))
}
