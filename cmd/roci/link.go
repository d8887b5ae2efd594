package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/auto"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// linkHelp explains the values of --link, for the help of commands.
const linkHelp = `--link says how packets reach the network:
  udp             the kernel's UDP: no privileges, every interface
  raw             AF_PACKET, below the kernel's IP: CAP_NET_RAW
  xdp             AF_XDP, past the kernel, in the driver where it can:
                  CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, and CAP_IPC_LOCK where the
                  limit of locked memory is small (ulimit -l)
  xdp:native      in the driver, or not at all
  xdp:generic     behind the driver
  xdp:zerocopy    the driver moves packets without copying, or not at all
  xdp:copy        the kernel copies packets, whatever the driver can
  auto            what has the least latency of udp, raw and xdp here;
                  it says which, and why
  auto:bandwidth  the same for bandwidth`

// openLink opens a link on an address of this host, and of the network interface dev;
// "" is the one that has the address. What it had to choose by itself it tells say.
type openLink func(dev string, addr netip.Addr, say func(string)) (link.Link, error)

// links are the values of --link.
var links = map[string]openLink{
	"udp":            openUDP,
	"raw":            openRaw,
	"xdp":            openXDP(),
	"xdp:native":     openXDP(xdp.Native()),
	"xdp:generic":    openXDP(xdp.Generic()),
	"xdp:zerocopy":   openXDP(xdp.Native(), xdp.ZeroCopy()),
	"xdp:copy":       openXDP(xdp.Copy()),
	"auto":           openAuto(auto.Latency),
	"auto:bandwidth": openAuto(auto.Bandwidth),
}

func linkNames() string { return strings.Join(slices.Sorted(maps.Keys(links)), ", ") }

func linkByName(name string) (openLink, error) {
	open, ok := links[name]
	if !ok {
		return nil, fmt.Errorf("--link %q: no link to a network has this name; there are %s", name, linkNames())
	}
	return open, nil
}

func openUDP(_ string, addr netip.Addr, _ func(string)) (link.Link, error) { return udp.Open(addr) }

func openRaw(dev string, addr netip.Addr, _ func(string)) (link.Link, error) {
	dev, err := interfaceOf(dev, addr)
	if err != nil {
		return nil, err
	}
	return raw.Open(dev, raw.Addrs(addr))
}

func openXDP(opts ...xdp.Option) openLink {
	return func(dev string, addr netip.Addr, say func(string)) (link.Link, error) {
		dev, err := interfaceOf(dev, addr)
		if err != nil {
			return nil, err
		}
		l, err := xdp.Open(dev, append(opts, xdp.Addrs(addr))...)
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w; run roci as root, or give it what xdp needs: setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep %s", err, program())
		}
		if err != nil {
			return nil, err
		}
		say(fmt.Sprintf("%s: %v", l.Name(), l.Setup()))
		return l, nil
	}
}

func openAuto(wish auto.Wish) openLink {
	return func(dev string, addr netip.Addr, say func(string)) (link.Link, error) {
		dev, err := interfaceOf(dev, addr)
		if err != nil {
			return nil, err
		}
		c, err := auto.Open(dev, wish, addr)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(c.String()) {
			say(strings.TrimSpace(line))
		}
		return c.Link, nil
	}
}

// program is the file of this program.
func program() string {
	file, err := os.Executable()
	if err != nil {
		return "ROCI"
	}
	return file
}

// interfaceOf is the interface that a link on an address is opened on: the one that
// its zone names, dev, or the one that has it.
func interfaceOf(dev string, addr netip.Addr) (string, error) {
	if addr.Zone() != "" {
		return addr.Zone(), nil
	}
	if dev != "" {
		return dev, nil
	}
	i, err := hostnet.ByAddr(addr)
	if err != nil {
		return "", err
	}
	return i.Name, nil
}
