package udp

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// peer is the link's prepared form of a path: what sendmmsg wants to know of the
// destination. All paths to an address share one. All but single is read-only once
// made.
type peer struct {
	addr    netip.Addr
	name    unix.RawSockaddrInet6 // or, in its first bytes, RawSockaddrInet4
	nameLen uint32
	flow    wire.Flow

	// single says that the kernel takes no super-frames on the way there. Under the
	// shard's lock.
	single bool
}

// Resolve prepares a path: it asks the kernel for a route (not for the neighbour:
// the kernel looks for that one by itself when the first packet leaves), sets the
// source port, which is 4791 for every QP of this link, and calls Path.Prepare.
func (l *Link) Resolve(p *wire.Path) error {
	if !p.Src.IsValid() {
		p.Src = l.addr
	}
	if p.Src != l.addr {
		return fmt.Errorf("udp: resolve %v: source address %v is not this link's, which is %v", p.Dst, p.Src, l.addr)
	}
	if p.Dst.Is4() != l.addr.Is4() || p.Dst.Is4In6() || !p.Dst.IsValid() {
		return fmt.Errorf("udp: resolve %v: not an address of the family of %v", p.Dst, l.addr)
	}
	if err := l.checkRoute(p.Dst); err != nil {
		return fmt.Errorf("udp: resolve %v: the kernel has no route from %v to it (`ip route get %v from %v`): %w",
			p.Dst, l.addr, p.Dst, l.addr, err)
	}
	p.SrcPort = wire.Port
	p.Link = l.peers.of(p, l.scopeFor(p.Dst))
	p.Prepare()
	return nil
}

// scopeFor is the interface of a link-local destination.
func (l *Link) scopeFor(dst netip.Addr) uint32 {
	if dst.IsLinkLocalUnicast() {
		return l.scope
	}
	return 0
}

// checkRoute connects a socket of its own, which sends nothing: the link's socket
// must stay unconnected.
func (l *Link) checkRoute(dst netip.Addr) error {
	family := unix.AF_INET
	if dst.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, sockaddr(l.addr, 0, l.scope)); err != nil {
		return err
	}
	return unix.Connect(fd, sockaddr(dst, wire.Port, l.scopeFor(dst)))
}

// peers finds the peer of an address while a path to it lives, so that packets of
// several connections may share a super-frame.
type peers struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]weak.Pointer[peer]
}

func (ps *peers) of(p *wire.Path, scope uint32) *peer {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if to := ps.byAddr[p.Dst].Value(); to != nil {
		return to
	}
	if ps.byAddr == nil {
		ps.byAddr = make(map[netip.Addr]weak.Pointer[peer])
	}
	to := newPeer(p, scope)
	ps.byAddr[p.Dst] = weak.Make(to)
	runtime.AddCleanup(to, ps.forget, p.Dst)
	return to
}

// forget removes an address unless it has a peer again.
func (ps *peers) forget(addr netip.Addr) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byAddr[addr].Value() == nil {
		delete(ps.byAddr, addr)
	}
}

func newPeer(p *wire.Path, scope uint32) *peer {
	to := &peer{addr: p.Dst, flow: wire.MakeFlow(p.Src, p.Dst, p.SrcPort, wire.DontFragment)}
	if p.Dst.Is4() {
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(&to.name)) = unix.RawSockaddrInet4{
			Family: unix.AF_INET, Port: swapOrder(wire.Port), Addr: p.Dst.As4()}
		to.nameLen = unix.SizeofSockaddrInet4
	} else {
		to.name = unix.RawSockaddrInet6{
			Family: unix.AF_INET6, Port: swapOrder(wire.Port), Addr: p.Dst.As16(), Scope_id: scope}
		to.nameLen = unix.SizeofSockaddrInet6
	}
	return to
}
