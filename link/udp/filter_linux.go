package udp

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"golang.org/x/net/bpf"

	"github.com/rocinante-rdma/roce/internal/sockopt"
)

// filterOwnHost has the socket drop what arrives on another interface than the
// loopback one of this network namespace. What a filter drops is delivered for the
// kernel, so it sends no ICMP port unreachable.
func filterOwnHost(fd int) error {
	lo, err := loopback()
	if err != nil {
		return err
	}
	err = sockopt.AttachFilter(fd, []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtInterfaceIndex},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(lo.Index), SkipFalse: 1},
		bpf.RetConstant{Val: 1 << 16}, // any packet, whole
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return fmt.Errorf("let only packets of the own host pass: %w", err)
	}
	return nil
}

func loopback() (*net.Interface, error) {
	itfs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	i := slices.IndexFunc(itfs, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 })
	if i < 0 {
		return nil, errors.New("this network namespace has no loopback interface, through which packets of the own host come")
	}
	return &itfs[i], nil
}
