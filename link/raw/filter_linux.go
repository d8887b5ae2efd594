package raw

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// Offsets in a frame without tag: the kernel takes a VLAN tag out before the filter
// sees the frame.
const (
	etherTypeAt = wire.EthernetLen - 2
	ipAt        = wire.EthernetLen

	ip4FragmentAt = ipAt + 6
	ip4ProtocolAt = ipAt + 9
	ip4DstAt      = ipAt + 16
	ip4PortAt     = ipAt + wire.IPv4Len + 2

	ip6NextAt = ipAt + 6
	ip6DstAt  = ipAt + 24
	ip6PortAt = ipAt + wire.IPv6Len + 2
)

var (
	drop = bpf.RetConstant{Val: 0}
	pass = bpf.RetConstant{Val: 1 << 18} // bytes: more than any frame has
)

// filter passes RoCEv2 to the addresses: UDP port 4791, neither fragments nor IPv4
// options nor IPv6 extensions. What else the link wants to know of a frame it looks
// at itself.
func filter(addrs []netip.Addr) []bpf.Instruction {
	v4, v6 := filter4(addrs), filter6(addrs)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: etherTypeAt, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IP, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: 1},
		drop,
		bpf.Jump{Skip: uint32(len(v4))},
	}
	return append(append(program, v4...), v6...)
}

func filter4(addrs []netip.Addr) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: ipAt, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0x45, SkipTrue: 1}, // version 4, no options
		drop,
		bpf.LoadAbsolute{Off: ip4ProtocolAt, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 1},
		drop,
		bpf.LoadAbsolute{Off: ip4FragmentAt, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: 0x3fff, SkipTrue: 1}, // more fragments, offset
		drop,
		bpf.LoadAbsolute{Off: ip4PortAt, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: wire.Port, SkipTrue: 1},
		drop,
		bpf.LoadAbsolute{Off: ip4DstAt, Size: 4},
	}
	for _, a := range addrs {
		if a.Is4() {
			b := a.As4()
			program = append(program,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(b[:]), SkipTrue: 1},
				pass)
		}
	}
	return append(program, drop)
}

func filter6(addrs []netip.Addr) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: ip6NextAt, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 1},
		drop,
		bpf.LoadAbsolute{Off: ip6PortAt, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: wire.Port, SkipTrue: 1},
		drop,
	}
	for _, a := range addrs {
		if a.Is6() {
			program = append(program, match6(a.As16())...)
		}
	}
	return append(program, drop)
}

// match6 passes what is for an address, and goes on after itself otherwise.
func match6(addr [16]byte) (program []bpf.Instruction) {
	const words, perWord = 4, 2
	for i := range uint32(words) {
		program = append(program,
			bpf.LoadAbsolute{Off: ip6DstAt + 4*i, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(addr[4*i:]),
				SkipTrue: uint8(perWord*(words-1-i) + 1)})
	}
	return append(program, pass)
}
