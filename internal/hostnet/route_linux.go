package hostnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Route asks the kernel's routing table for the first hop from a local address, or
// from any if src is the zero Addr, to dst through an interface, or any if ifindex is
// 0. An address of this host is Local whatever the interface. Having no way is an
// error that says what to do.
func (h *Handle) Route(src, dst netip.Addr, ifindex int) (Hop, error) {
	src, dst = src.Unmap().WithZone(""), dst.Unmap().WithZone("")
	// With an interface the kernel passes over local addresses of other interfaces.
	if ifindex != 0 && !dst.IsLinkLocalUnicast() {
		if r, err := h.lookup(netip.Addr{}, dst, 0); err == nil && r.Type == unix.RTN_LOCAL {
			return h.hop(r, dst)
		}
	}
	r, err := h.lookup(src, dst, ifindex)
	if err == nil {
		err = reachable(r)
	}
	if err != nil && !h.owns(src) {
		err = errors.New("the source address is no address of this host; see ip addr")
	}
	if err != nil {
		return Hop{}, fmt.Errorf("no route to %v%s: %w", dst, h.through(src, ifindex), err)
	}
	return h.hop(r, dst)
}

func (h *Handle) lookup(src, dst netip.Addr, ifindex int) (netlink.Route, error) {
	o := &netlink.RouteGetOptions{OifIndex: ifindex}
	if src.IsValid() {
		o.SrcAddr = src.AsSlice()
	}
	list, err := h.nl.RouteGetWithOptions(dst.AsSlice(), o)
	if err != nil {
		return netlink.Route{}, explain(err)
	}
	if len(list) == 0 {
		return netlink.Route{}, errors.New("the kernel found none and did not say why")
	}
	return list[0], nil
}

// owns is true also for what it cannot tell: no address, and a link-local one.
func (h *Handle) owns(src netip.Addr) bool {
	if !src.IsValid() || src.IsLinkLocalUnicast() {
		return true
	}
	r, err := h.lookup(netip.Addr{}, src, 0)
	return err == nil && r.Type == unix.RTN_LOCAL
}

// explain turns the kernel's answer for a route that leads nowhere into what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("%w; give the interface an address of that network, or add a route with: ip route add", err)
	case errors.Is(err, unix.EHOSTUNREACH):
		return errUnreachable
	case errors.Is(err, unix.EACCES):
		return errProhibited
	case errors.Is(err, unix.EINVAL):
		return errBlackhole
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w; the interface is gone", err)
	}
	return err
}

var (
	errUnreachable = errors.New("a route of type unreachable forbids it; see ip route, and remove it with: ip route del")
	errProhibited  = errors.New("a route or rule of type prohibit forbids it; see ip route and ip rule, and remove it with: ip route del or ip rule del")
	errBlackhole   = errors.New("a route of type blackhole swallows it; see ip route, and remove it with: ip route del")
)

// reachable returns why a route does not lead to one host.
func reachable(r netlink.Route) error {
	switch r.Type {
	case unix.RTN_UNICAST:
		// Given an interface, IPv4 assumes that what no table has is on its link.
		if r.Table == unix.RT_TABLE_UNSPEC {
			return explain(unix.ENETUNREACH)
		}
		return nil
	case unix.RTN_LOCAL:
		return nil
	case unix.RTN_UNREACHABLE:
		return errUnreachable
	case unix.RTN_PROHIBIT:
		return errProhibited
	case unix.RTN_BLACKHOLE:
		return errBlackhole
	case unix.RTN_BROADCAST, unix.RTN_MULTICAST, unix.RTN_ANYCAST:
		return errors.New("it is the address of many hosts; give that of one")
	}
	return fmt.Errorf("the route has the type %d, which leads nowhere; see ip route", r.Type)
}

// hop reads a route to dst.
func (h *Handle) hop(r netlink.Route, dst netip.Addr) (Hop, error) {
	hop := Hop{IfIndex: r.LinkIndex, Local: r.Type == unix.RTN_LOCAL, Next: nextHop(r, dst), MTU: r.MTU}
	if hop.MTU == 0 {
		l, err := h.nl.LinkByIndex(r.LinkIndex)
		if err != nil {
			return Hop{}, fmt.Errorf("ask for the MTU of interface %d, towards %v: %w", r.LinkIndex, dst, err)
		}
		hop.MTU = l.Attrs().MTU
	}
	return hop, nil
}

// nextHop is the gateway, which may be an IPv6 one for an IPv4 destination (RFC 8950).
func nextHop(r netlink.Route, dst netip.Addr) netip.Addr {
	gateway := r.Gw
	if via, ok := r.Via.(*netlink.Via); ok {
		gateway = via.Addr
	}
	if next, ok := netip.AddrFromSlice(gateway); ok {
		return next.Unmap()
	}
	return dst
}

// through says in an error where a route was to begin.
func (h *Handle) through(src netip.Addr, ifindex int) (s string) {
	if src.IsValid() {
		s = fmt.Sprintf(" from %v", src)
	}
	if ifindex != 0 {
		s += " through " + h.NameOf(ifindex)
	}
	return s
}

// NameOf is the name of an interface, or words that stand for it if it has none.
func (h *Handle) NameOf(ifindex int) string {
	l, err := h.nl.LinkByIndex(ifindex)
	if err != nil {
		return fmt.Sprintf("interface %d", ifindex)
	}
	return l.Attrs().Name
}
