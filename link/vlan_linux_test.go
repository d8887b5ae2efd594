package link_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/wire"
	"github.com/rocinante-rdma/roce/xdp"
)

// taggers open the links that write VLAN tags, with both addresses of a host.
var taggers = map[string]func(h *netns.Host) (link.Link, error){
	"raw": func(h *netns.Host) (link.Link, error) { return raw.Open(h.Interface, raw.Addrs(h.IPv4, h.IPv6)) },
	"raw, singly": func(h *netns.Host) (link.Link, error) {
		return raw.Open(h.Interface, raw.Addrs(h.IPv4, h.IPv6), raw.NoSuperFrames())
	},
	"xdp, native": func(h *netns.Host) (link.Link, error) {
		return xdp.Open(h.Interface, xdp.Addrs(h.IPv4, h.IPv6), xdp.Native())
	},
	"xdp, generic": func(h *netns.Host) (link.Link, error) {
		return xdp.Open(h.Interface, xdp.Addrs(h.IPv4, h.IPv6), xdp.Generic())
	},
}

// W15: the four bytes of a tag come on top of a packet, wherever that is split into
// buffers: those of the largest path MTU leave whole from an interface whose MTU has no
// byte to spare, since a link MTU does not count the tag, and arrive as sent. The tag
// is one of priority (VLAN ID 0), which needs no VLAN of the kernel's.
func TestTaggedPacketsAreWhole(t *testing.T) {
	const priority = 5 << wire.VLANPriorityShift
	for name, open := range taggers {
		for _, linkMTU := range []int{1500, 4192, 9000} {
			t.Run(fmt.Sprintf("%s, MTU %d", name, linkMTU), func(t *testing.T) {
				street := netnstest.NewStreet(t, netns.Options{MTU: linkMTU})
				singly(t, street.A)
				from, seen := openLink(t, street.A, open), openTap(t, street.B)
				for i, to := range []netip.Addr{street.B.IPv4, street.B.IPv6} {
					p := &wire.Path{Src: from.Addrs()[i], Dst: to, SrcPort: 0xc001, VLAN: priority}
					require.NoError(t, from.Resolve(p))
					for _, size := range tagSizes(link.PathMTU(linkMTU)) {
						packet := sendTagged(t, from.Queue(), p, size)
						requireWhole(t, seen, p, packet)
					}
				}
			})
		}
	}
}

// tagSizes are sizes of payloads up to a path MTU: that itself, and those around the end
// of a page, where a chunk of xdp's ends, with any headers before and behind.
func tagSizes(pathMTU int) (sizes []int) {
	const page, most = 4096, wire.MaxHeadersLen + link.MaxHeader + link.MaxTail
	for n := max(0, min(pathMTU, page)-most); n <= pathMTU; n++ {
		sizes = append(sizes, n)
	}
	return sizes
}

// sendTagged sends one packet: with all headers that a packet of that size can have.
func sendTagged(t *testing.T, q link.Queue, p *wire.Path, size int) (packet []byte) {
	t.Helper()
	payload := bytes.Repeat([]byte{byte(size)}, size)
	var s link.Slot
	require.Positive(t, q.Room())
	q.Reserve(p, bth.BTHLen+bth.RETHLen, [][]byte{payload}, -size&3, false, &s)
	for i := range s.Head {
		s.Head[i] = byte(i)
	}
	p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
	packet = append(packet, s.Head...)
	packet = append(append(packet, payload...), s.Tail...)
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Zero(t, pending)
	return packet
}

// requireWhole awaits one RoCEv2 packet, which must be the one that was sent.
func requireWhole(t *testing.T, seen *tap, p *wire.Path, packet []byte) {
	t.Helper()
	for _, f := range seen.frames() {
		parsed, err := wire.ParseFrame(f.bytes)
		if err != nil || parsed.DstPort != wire.Port {
			continue // of the kernel's own
		}
		require.Equal(t, p.VLAN, f.tag, "a packet of %d bytes", len(packet))
		require.True(t, bytes.Equal(packet, parsed.Payload), "a packet of %d bytes arrived as %d", len(packet), len(parsed.Payload))
		require.True(t, wire.VerifyICRC(parsed.Src, parsed.Dst, parsed.SrcPort, parsed.Flags, parsed.ID, [2][]byte{parsed.Payload}))
		return
	}
	t.Fatalf("a tagged packet of %d bytes did not come", len(packet))
}

// W15: and what arrives with a tag is taken whole, by each link that reads tags.
func TestTaggedPacketsArriveWhole(t *testing.T) {
	const priority = 3 << wire.VLANPriorityShift
	for name, open := range taggers {
		for _, linkMTU := range []int{1500, 4192, 9000} {
			t.Run(fmt.Sprintf("%s, MTU %d", name, linkMTU), func(t *testing.T) {
				street := netnstest.NewStreet(t, netns.Options{MTU: linkMTU})
				singly(t, street.A)
				from, to := openLink(t, street.A, taggers["raw, singly"]), openLink(t, street.B, open)
				for i := range from.Addrs() {
					p := &wire.Path{Src: from.Addrs()[i], Dst: to.Addrs()[i], SrcPort: 0xc001, VLAN: priority}
					require.NoError(t, from.Resolve(p))
					for _, size := range tagSizes(link.PathMTU(linkMTU)) {
						packet := sendTagged(t, from.Queue(), p, size)
						got, m := receive(t, to.Queue())
						require.Equal(t, p.VLAN, m.VLAN, "a packet of %d bytes", len(packet))
						require.True(t, bytes.Equal(packet, got), "a packet of %d bytes arrived as %d", len(packet), len(got))
					}
				}
			})
		}
	}
}

// receive returns the next packet that comes.
func receive(t *testing.T, q link.Queue) (packet []byte, m link.Meta) {
	t.Helper()
	var rx [1]link.Rx
	for q.Recv(rx[:]) == 0 {
		q.Arm(clock.Never, link.Interest{Rx: true})
		q.Park()
		q.Disarm()
	}
	defer q.Release()
	return bytes.Join(rx[0].Frag[:], nil), rx[0].Meta
}

func openLink(t *testing.T, h *netns.Host, open func(*netns.Host) (link.Link, error)) (l link.Link) {
	t.Helper()
	require.NoError(t, h.Do(func() (err error) { l, err = open(h); return err }))
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
