package bpf

import (
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/wire"
)

const xdpPass = 2

var (
	ours4, theirs4 = netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.2")
	ours6, theirs6 = netip.MustParseAddr("fd09::1"), netip.MustParseAddr("fd09::2")
)

// packet is a frame with a payload of n bytes to one of our addresses.
func packet(dst netip.Addr, vlan, port uint16, n int) []byte {
	h := wire.Headers{Src: theirs4, Dst: dst, VLAN: vlan, SrcPort: 0xc000, DstPort: port, HopLimit: 64}
	if dst.Is6() {
		h.Src = theirs6
	}
	return append(h.AppendFrame(nil, n), make([]byte, n)...)
}

// with is the packet with one byte set.
func with(b []byte, at int, value byte) []byte {
	b[at] = value
	return b
}

const ip = wire.EthernetLen // where the IP header begins in an untagged frame

var packets = []struct {
	name  string
	bytes []byte
	want  Counts
}{
	{"RoCEv2 over IPv4", packet(ours4, 0, wire.Port, 100), Counts{NoSocket: 1}},
	{"RoCEv2 over IPv6", packet(ours6, 0, wire.Port, 100), Counts{NoSocket: 1}},
	{"RoCEv2 over IPv4, tagged", packet(ours4, 5, wire.Port, 100), Counts{NoSocket: 1}},
	{"RoCEv2 over IPv6, tagged", packet(ours6, 5, wire.Port, 100), Counts{NoSocket: 1}},
	{"RoCEv2 in several buffers", packet(ours6, 0, wire.Port, 6000), Counts{NoSocket: 1}},
	{"Don't Fragment", with(packet(ours4, 0, wire.Port, 100), ip+6, 0x40), Counts{NoSocket: 1}},
	{"to another address, IPv4", packet(theirs4, 0, wire.Port, 100), Counts{Foreign: 1}},
	{"to another address, IPv6", packet(theirs6, 0, wire.Port, 100), Counts{Foreign: 1}},
	{"to another address that begins like ours", with(packet(ours6, 0, wire.Port, 100), ip+39, 9), Counts{Foreign: 1}},
	{"DHCP", packet(ours4, 0, 67, 100), Counts{}},
	{"from port 4791", with(with(packet(ours4, 0, 80, 100), ip+20, wire.Port>>8), ip+21, wire.Port&0xff), Counts{}},
	{"port in the other byte order", packet(ours4, 0, wire.Port>>8|wire.Port&0xff<<8, 100), Counts{}},
	{"TCP", with(packet(ours4, 0, wire.Port, 100), ip+9, 6), Counts{}},
	{"IPv4 options", with(packet(ours4, 0, wire.Port, 100), ip, 0x46), Counts{}},
	{"first fragment", with(packet(ours4, 0, wire.Port, 100), ip+6, 0x20), Counts{}},
	{"later fragment", with(packet(ours4, 0, wire.Port, 100), ip+7, 1), Counts{}},
	{"IPv6 fragment", with(packet(ours6, 0, wire.Port, 100), ip+6, 44), Counts{}},
	{"ICMPv6", with(packet(ours6, 0, wire.Port, 100), ip+6, 58), Counts{}},
	{"ARP", with(packet(ours4, 0, wire.Port, 100), 13, 6), Counts{}},
	{"two tags", with(packet(ours4, 0x8100, wire.Port, 100), 16, 0x81), Counts{}},
	{"ends in the UDP header", packet(ours4, 0, wire.Port, 0)[:ip+27], Counts{}},
	{"ends in the IPv6 header", packet(ours6, 0, wire.Port, 0)[:ip+39], Counts{}},
	{"ends in the tag", packet(ours4, 5, wire.Port, 0)[:17], Counts{}},
}

// Both programs judge every kind of packet. There is no socket, so all are passed to
// the host; the counters tell what would go to one.
func TestVerdicts(t *testing.T) {
	testenv.Need(t, testenv.Root)
	for _, name := range []string{filterProgRoceSingle, filterProgRoceFrags} {
		for _, p := range packets {
			if name == filterProgRoceSingle && len(p.bytes) > 3000 {
				continue
			}
			t.Run(name+" "+p.name, func(t *testing.T) {
				c, err := loadOnly(&Config{Queues: 1, Addrs: []netip.Addr{ours4, ours6}}, name)
				require.NoError(t, err)
				f := &Filter{collection: c}
				defer f.Close()
				verdict, err := c.Programs[name].Run(&ebpf.RunOptions{Data: p.bytes})
				require.NoError(t, err)
				require.Equal(t, uint32(xdpPass), verdict)
				require.Equal(t, p.want, f.Counts())
			})
		}
	}
}
