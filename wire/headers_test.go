package wire

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemplateEqualsHeaders(t *testing.T) {
	for _, src := range []string{"10.0.0.1", "fd00::1"} {
		for _, vlan := range []uint16{0, 0x2005} {
			p := Path{
				Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(src).Next(), SrcPort: 0xc001,
				TrafficClass: 0x6a, SrcMAC: MAC{2, 0, 0, 0, 0, 1}, DstMAC: MAC{2, 0, 0, 0, 0, 2}, VLAN: vlan,
			}
			tpl := p.Template()
			for _, n := range []int{0, 16, 280, 1056, 4130, 65000} {
				for _, id := range []uint16{0, 1, 0xffff} {
					h := p.Headers(id)
					got := make([]byte, tpl.Len())
					tpl.Put(got, id, n)
					require.Equal(t, h.AppendFrame(nil, n), got, "%s, %d bytes, ID %#x", src, n, id)
				}
			}
			h := p.Headers(0)
			require.Equal(t, len(h.AppendFrame(nil, 0)), tpl.Len())
			require.Equal(t, len(h.appendEthernet(nil)), tpl.IPOffset())
			require.EqualValues(t, DefaultHopLimit, h.HopLimit)
		}
	}
}

func TestTemplateDoesNotAllocate(t *testing.T) {
	tpl := vectors[0].path.Template()
	b := make([]byte, tpl.Len())
	require.Zero(t, testing.AllocsPerRun(100, func() { tpl.Put(b, 1, 100) }))
}

// The UC SEND Only vector carries a UDP checksum.
func TestUDPChecksum(t *testing.T) {
	ip := append([]byte(nil), vectors[1].ip...)
	want := binary.BigEndian.Uint16(ip[26:])
	ip[26], ip[27] = 0, 0
	for cut := IPv4Len; cut <= len(ip); cut += 2 {
		require.Equal(t, want, UDPChecksum(ip, ip[IPv4Len:cut], ip[cut:]))
	}
	// What a NIC would make of the pseudo sum.
	binary.BigEndian.PutUint16(ip[26:], PseudoSum(ip, len(ip)-IPv4Len))
	require.Equal(t, want, ^fold(onesSum(0, ip[IPv4Len:])))
}

func TestUDPChecksumOfOddLengthAndZero(t *testing.T) {
	h := sample(true, false)
	ip := h.AppendIP(nil, 0)[:IPv6Len]
	odd, even := []byte{1, 2, 3}, []byte{1, 2, 3, 0}
	require.Equal(t, UDPChecksum(ip, even)+1, UDPChecksum(ip, odd), "an odd byte counts as the high one; the length differs by one")

	sum := PseudoSum(ip, 2)
	b := binary.BigEndian.AppendUint16(nil, ^sum)
	require.EqualValues(t, 0xffff, UDPChecksum(ip, b), "zero means no checksum and is never sent")
}

// Ports of connections seen between kernels.
func TestSourcePort(t *testing.T) {
	for _, c := range []struct {
		a, b uint32
		port uint16
	}{{0x11, 0x11, 0xc121}, {0x16, 0x16, 0xc1e4}, {0x25, 0x26, 0xc57e}, {0x28, 0x29, 0xc668}, {0x53, 0x54, 0xdb3c}} {
		require.Equal(t, c.port, SourcePort(c.a, c.b))
		require.Equal(t, c.port, SourcePort(c.b, c.a), "the same from both ends")
	}
	for _, label := range []uint32{0, 1, 0x3fff, 0xfffff, 0xfffffff} {
		require.GreaterOrEqual(t, PortForLabel(label), uint16(0xc000))
	}
	require.EqualValues(t, 0xc000|0x3fff^0x3f, PortForLabel(0xfffff))
	require.EqualValues(t, 0xfff1e, FlowLabel(0xffffff, 0xffffff), "all of a 48-bit product counts")
}

func TestGID(t *testing.T) {
	for _, c := range []struct{ addr, gid string }{
		{"10.10.0.2", "::ffff:10.10.0.2"},
		{"fd00:10::2", "fd00:10::2"},
		{"fe80::5054:ff:fedd:3", "fe80::5054:ff:fedd:3"},
	} {
		a := netip.MustParseAddr(c.addr)
		g := GIDOf(a)
		require.Equal(t, c.gid, g.String())
		require.Equal(t, a, g.Addr())
	}
	require.Equal(t, netip.MustParseAddr("fe80::1"), GIDOf(netip.MustParseAddr("fe80::1%eth0")).Addr())
}

func TestECN(t *testing.T) {
	for e, name := range map[ECN]string{NotECT: "Not-ECT", ECT1: "ECT(1)", ECT0: "ECT(0)", CE: "CE"} {
		require.Equal(t, name, e.String())
		require.Equal(t, e, ECNOf(e.With(0xff)))
		require.EqualValues(t, 0x68, e.With(0x6b)&^3, "the DSCP stays")
		require.Equal(t, e != NotECT, e.Capable())
	}
}

func TestMACString(t *testing.T) {
	require.Equal(t, "52:54:00:dd:00:02", MAC{0x52, 0x54, 0, 0xdd, 0, 2}.String())
}
