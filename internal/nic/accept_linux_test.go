package nic

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// testNIC has 10.0.0.1 untagged, 10.5.0.1 on VLAN 5 with a MAC of its own, and one
// link-local address on both.
func testNIC() *NIC {
	base, sub := testDevice(1), testDevice(2)
	sub.set(mac2, true)
	n := &NIC{name: "eth0", base: base, named: base}
	for _, l := range []*local{
		{addr: addr("fe80::1"), on: base},
		{addr: addr("10.0.0.1"), on: base},
		{addr: addr("10.5.0.1"), vlan: 5, on: sub},
		{addr: addr("fe80::1"), vlan: 5, on: sub},
	} {
		l.present.Store(true)
		n.locals = append(n.locals, l)
	}
	return n
}

func TestAccept(t *testing.T) {
	const tagged = true
	for _, c := range []struct {
		name    string
		dst     string
		mac     wire.MAC
		inFrame uint16 // tag
		beside  Tag
		reason  error
	}{
		{"untagged", "10.0.0.1", mac1, 0, Tag{}, nil},
		{"priority only", "10.0.0.1", mac1, 0, Tag{3 << 13, tagged}, nil},
		{"priority 0", "10.0.0.1", mac1, 0, Tag{0, tagged}, nil},
		{"priority in the frame", "10.0.0.1", mac1, 3 << 13, Tag{}, nil},
		{"other VLAN", "10.0.0.1", mac1, 0, Tag{5, tagged}, errVLAN},
		{"its VLAN", "10.5.0.1", mac2, 0, Tag{5, tagged}, nil},
		{"its VLAN, in the frame", "10.5.0.1", mac2, 3<<13 | 5, Tag{}, nil},
		{"no VLAN", "10.5.0.1", mac2, 0, Tag{}, errVLAN},
		{"another VLAN", "10.5.0.1", mac2, 0, Tag{6, tagged}, errVLAN},
		{"MAC of the interface below", "10.5.0.1", mac1, 0, Tag{5, tagged}, errMAC},
		{"two tags", "10.5.0.1", mac2, 5, Tag{5, tagged}, errTwoTags},
		{"one address on two VLANs", "fe80::1", mac1, 0, Tag{}, nil},
		{"one address on two VLANs, tagged", "fe80::1", mac2, 0, Tag{5, tagged}, nil},
		{"not ours", "10.0.0.2", mac1, 0, Tag{}, errAddress},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testNIC()
			p := wire.Path{Src: addr("10.0.0.7"), Dst: addr(c.dst), SrcPort: 0xc001, TrafficClass: 2, DstMAC: c.mac, VLAN: c.inFrame}
			if p.Dst.Is6() {
				p.Src = addr("fe80::7")
			}
			h := p.Headers(77)
			frame := append(h.AppendFrame(nil, 20), make([]byte, 20)...)
			var m link.Meta
			payload, size, ok := n.Accept(frame, len(frame), c.beside, &m)
			require.Equal(t, c.reason == nil, ok)
			if c.reason != nil {
				require.Len(t, n.Counters(), 1)
				require.Equal(t, reasonName(c.reason), n.Counters()[0].Name)
				return
			}
			require.Equal(t, 20, size)
			require.Equal(t, len(frame)-20, payload)
			want := link.Meta{Src: p.Src, Dst: p.Dst, SrcPort: 0xc001, ECN: 2, VLAN: c.inFrame | c.beside.TCI, IDKnown: true}
			if p.Dst.Is4() {
				want.ID, want.Flags = 77, wire.DontFragment
			}
			require.Equal(t, want, m)
			require.Zero(t, testing.AllocsPerRun(100, func() { n.Accept(frame, len(frame), c.beside, &m) }))
		})
	}
}

func reasonName(err error) string {
	for _, r := range dropReasons {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return ""
}

// Every way in which headers can be wrong has its counter.
func TestDropReasons(t *testing.T) {
	for _, err := range []error{
		wire.ErrTruncated, wire.ErrNotIP, wire.ErrNotUDP, wire.ErrOptions, wire.ErrFragment, wire.ErrExtension, wire.ErrUDPLength,
	} {
		require.NotEmpty(t, reasonName(err), "%v", err)
	}
}

// The source of a path is an address of its family; of one that several VLANs have, the
// path's VLAN ID says which.
func TestSource(t *testing.T) {
	n := testNIC()
	for _, c := range []struct {
		src, dst string
		vlan     uint16
		want     int
	}{
		{"10.0.0.1", "10.0.0.7", 0, 1},
		{"", "10.0.0.7", 0, 1},
		{"", "10.5.0.7", 5, 2},
		{"", "fe80::7", 0, 0},
		{"fe80::1", "fe80::7", 0, 0},
		{"fe80::1", "fe80::7", 3<<13 | 5, 3},
		{"10.5.0.1", "10.5.0.7", 3 << 13, 2},
	} {
		p := &wire.Path{Dst: addr(c.dst), VLAN: c.vlan}
		if c.src != "" {
			p.Src = addr(c.src)
		}
		i, err := n.source(p)
		require.NoError(t, err)
		require.Equal(t, c.want, i, "%+v", c)
	}
}
