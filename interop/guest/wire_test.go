//go:build linux

package guest

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

// wirePair is two wires joined to each other, without a guest: the second one
// plays the guest's part.
func wirePair(t *testing.T, addrA, addrB netip.Addr, mtu int) (a, b *Wire) {
	t.Helper()
	dir := t.TempDir()
	sa, sb := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	a, err := newWire(sa, sb, mtu)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	b, err = newWire(sb, sa, mtu)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	require.NoError(t, a.connect())
	require.NoError(t, b.connect())
	a.SetAddrs(addrA)
	b.SetAddrs(addrB)
	b.macs[addrA] = wire.MAC(HostMAC)
	return a, b
}

func openLink(t *testing.T, w *Wire) link.Link {
	t.Helper()
	l, err := w.Link()
	require.NoError(t, err)
	return l
}

func TestWireIsALink(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b netip.Addr
		mtu  int
	}{
		{"ipv4", HostIPv4.Addr(), GuestIPv4.Addr(), 1500},
		{"ipv6 jumbo", HostIPv6.Addr(), GuestIPv6.Addr(), 9000},
	} {
		t.Run(c.name, func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) linktest.Pair {
				a, b := wirePair(t, c.a, c.b, c.mtu)
				return linktest.Pair{
					A: openLink(t, a), B: openLink(t, b),
					Inject: func(payload []byte) error {
						p := wire.Path{Src: c.a, Dst: c.b, SrcPort: 0xc000}
						h := p.Headers(1)
						return a.WriteFrame(append(h.AppendFrame(nil, len(payload)), payload...))
					},
				}
			})
		})
	}
}

func TestWireAnswersForItsAddresses(t *testing.T) {
	a, b := wirePair(t, HostIPv4.Addr(), GuestIPv4.Addr(), 1500)
	a.SetAddrs(HostIPv4.Addr(), HostIPv6.Addr())

	arp := append([]byte{}, bytes.Repeat([]byte{0xff}, 6)...)
	arp = append(arp, GuestMAC...)
	arp = append(arp, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
	arp = append(arp, GuestMAC...)
	arp = append(arp, GuestIPv4.Addr().AsSlice()...)
	arp = append(arp, 0, 0, 0, 0, 0, 0)
	other := append(append([]byte{}, arp...), 10, 10, 0, 77)
	arp = append(arp, HostIPv4.Addr().AsSlice()...)
	require.NoError(t, b.WriteFrame(other)) // no answer, so the next frame is the other's
	require.NoError(t, b.WriteFrame(arp))
	got, err := b.ReadFrame(t.Context())
	require.NoError(t, err)
	want := append([]byte{}, GuestMAC...)
	want = append(want, HostMAC...)
	want = append(want, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2)
	want = append(want, HostMAC...)
	want = append(want, HostIPv4.Addr().AsSlice()...)
	want = append(want, GuestMAC...)
	want = append(want, GuestIPv4.Addr().AsSlice()...)
	require.Equal(t, want, got)

	group := net.HardwareAddr{0x33, 0x33, 0xff, 0, 0, 1}
	ns := append([]byte{}, group...)
	ns = append(ns, GuestMAC...)
	ns = append(ns, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255)
	ns = append(ns, GuestIPv6.Addr().AsSlice()...)
	ns = append(ns, netip.MustParseAddr("ff02::1:ff00:1").AsSlice()...)
	ns = append(ns, 135, 0, 0, 0, 0, 0, 0, 0)
	ns = append(ns, HostIPv6.Addr().AsSlice()...)
	ns = append(ns, 1, 1)
	ns = append(ns, GuestMAC...)
	require.NoError(t, b.WriteFrame(ns))
	got, err = b.ReadFrame(t.Context())
	require.NoError(t, err)
	require.Equal(t, []byte(GuestMAC), got[:6])
	require.Equal(t, HostIPv6.Addr().AsSlice(), got[22:38])
	require.Equal(t, GuestIPv6.Addr().AsSlice(), got[38:54])
	icmp := got[54:]
	require.Equal(t, byte(136), icmp[0])
	require.Equal(t, HostIPv6.Addr().AsSlice(), icmp[8:24])
	require.Equal(t, append([]byte{2, 1}, HostMAC...), icmp[24:])
	sum := binary.BigEndian.Uint16(icmp[2:])
	icmp[2], icmp[3] = 0, 0
	require.Equal(t, sum, icmp6Checksum(HostIPv6.Addr(), GuestIPv6.Addr(), icmp))
	require.Empty(t, b.inbox)
}

// numbered is a frame with a RoCEv2 packet of a PSN.
func numbered(psn bth.PSN) []byte {
	payload := make([]byte, bth.BTHLen+wire.ICRCLen)
	p := bth.Packet{Opcode: bth.RCSendOnly, PSN: psn}
	p.PutHeaders(payload)
	path := wire.Path{Src: HostIPv4.Addr(), Dst: GuestIPv4.Addr(), SrcPort: 0xc000}
	h := path.Headers(0)
	return append(h.AppendFrame(nil, len(payload)), payload...)
}

// requireNext reads frames, which must be these.
func requireNext(t *testing.T, w *Wire, frames ...[]byte) {
	t.Helper()
	for _, want := range frames {
		f, err := w.ReadFrame(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, f)
	}
}

// Packets meet faults; a tap sees them before that, and a recording what the guest
// sends and gets.
func TestWireTroublesAndRecords(t *testing.T) {
	a, b := wirePair(t, HostIPv4.Addr(), GuestIPv4.Addr(), 1500)
	file := filepath.Join(t.TempDir(), "wire.pcap")
	stop, err := a.Record(file)
	require.NoError(t, err)
	rules, err := fault.Parse("drop any to guest psn 0\nduplicate any to guest psn 1\ncorrupt any psn 1 bit 0\n" +
		"reorder any to guest psn 2 by 1\nduplicate any from guest\ndelay any to guest psn 5 by 1ms")
	require.NoError(t, err)
	a.Faults.Add(rules...)
	var seen [][]byte
	var fates []fault.Fate
	a.SetTap(func(d Direction, frame []byte, fate fault.Fate) {
		if d == ToGuest {
			seen, fates = append(seen, frame), append(fates, fate)
		}
	})
	var sent [][]byte
	for psn := range bth.PSN(5) {
		sent = append(sent, numbered(psn))
		require.NoError(t, a.WriteFrame(numbered(psn)))
	}
	flipped := numbered(1)
	flipped[len(flipped)-bth.BTHLen-wire.ICRCLen] ^= 0x80
	requireNext(t, b, flipped, flipped, sent[3], sent[2], sent[4])
	require.Equal(t, sent, seen)
	require.Equal(t, []fault.Fate{{Drop: true}, {Copies: 1, Flipped: 1}, {Overtakers: 1}, {}, {}}, fates)
	require.NoError(t, a.WriteFrame(numbered(5)))
	requireNext(t, b, numbered(5))

	require.NoError(t, b.WriteFrame(numbered(7)))
	require.NoError(t, b.WriteFrame(append(make([]byte, 59), 7)))
	requireNext(t, a, numbered(7), numbered(7), append(make([]byte, 59), 7))
	require.NoError(t, stop())

	testenv.Need(t, testenv.Tshark)
	out, err := exec.Command("tshark", "-r", file, "-T", "fields", "-e", "frame.len").Output()
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("58\n", 7)+"60\n", string(out))
}

// A hub carries a frame from one cable to all others, unchanged even if a fault
// changes one copy, and forgets a cable that was closed.
func TestHub(t *testing.T) {
	var h hub
	var ends []*Wire
	for range 3 {
		in, out := wirePair(t, HostIPv4.Addr(), GuestIPv4.Addr(), 1500)
		h.plug(in)
		in.Faults.Add(fault.Corrupt(fault.Match{To: "guest"}, 0))
		ends = append(ends, out)
	}
	flipped := numbered(1)
	flipped[len(flipped)-bth.BTHLen-wire.ICRCLen] ^= 0x80
	for i, from := range ends {
		require.NoError(t, from.WriteFrame(numbered(1)))
		for j, to := range ends {
			if i != j {
				requireNext(t, to, flipped)
			}
		}
	}
	for _, e := range ends {
		require.Empty(t, e.inbox)
	}
	first := h.others(nil)[0].(*Wire)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return len(h.others(nil)) == 2 }, 10*time.Second, time.Millisecond)
}
