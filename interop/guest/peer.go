//go:build linux

package guest

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
)

// firstPeerPort is the guest's TCP port of its first peer; the others follow.
const firstPeerPort = 7001

// PeerConfig tells how StartPeer opens the device. The zero value opens rxe0
// with the IPv4 GID.
type PeerConfig struct {
	Device   string // empty: rxe0
	GIDIndex int    // 0: GIDIndexIPv4
}

// Peer is a program in the guest that does verbs operations, one by one, as
// the test orders. Its methods are safe for concurrent use, but an order waits
// for the one before. An order that the verbs refuse returns a *PeerError and
// the peer goes on; after any other error, such as a context that ends during
// an order, the peer is of no more use.
type Peer struct {
	proc *Proc
	gid  netip.Addr
	mtu  int
	ids  atomic.Uint32 // that the last region, QP, SRQ or window got

	mu   sync.Mutex
	conn net.Conn
	r    *bufio.Reader
	err  error // set when the peer is of no more use
}

// PeerError is an order that the peer refused or could not carry out.
type PeerError struct {
	Order string
	Why   string
}

func (e *PeerError) Error() string { return fmt.Sprintf("guest: peer: %s: %s", e.Order, e.Why) }

// StartPeer starts a peer in the guest and opens its device. The caller closes
// it. A guest can have many.
func (g *Guest) StartPeer(ctx context.Context, cfg PeerConfig) (*Peer, error) {
	if cfg.Device == "" {
		cfg.Device = "rxe0"
	}
	if cfg.GIDIndex == 0 {
		cfg.GIDIndex = GIDIndexIPv4
	}
	port := firstPeerPort - 1 + uint16(g.peerPort.Add(1))
	proc, err := g.Start(ctx, fmt.Sprintf("exec rocepeer %d", port))
	if err != nil {
		return nil, err
	}
	conn, err := g.Dial(ctx, port)
	if err != nil {
		proc.Kill()
		r, _ := proc.Wait()
		return nil, fmt.Errorf("%w (rocepeer said: %q)", err, r.Stderr)
	}
	p := &Peer{proc: proc, conn: conn, r: bufio.NewReader(conn)}
	var open struct {
		GID string
		MTU int
	}
	if err := p.order(ctx, &open, "open", "dev", cfg.Device, "gid", cfg.GIDIndex); err != nil {
		p.Close()
		return nil, err
	}
	raw, err := hex.DecodeString(open.GID)
	if err != nil || len(raw) != 16 {
		p.Close()
		return nil, fmt.Errorf("guest: peer: malformed GID %q", open.GID)
	}
	p.gid, p.mtu = netip.AddrFrom16([16]byte(raw)).Unmap(), open.MTU
	return p, nil
}

// GID returns the peer's GID as an address; the IPv4-mapped one as an IPv4
// address.
func (p *Peer) GID() netip.Addr { return p.gid }

// ActiveMTU returns the device's path MTU in bytes.
func (p *Peer) ActiveMTU() int { return p.mtu }

// Close ends the peer's process, and with it all its QPs and regions.
func (p *Peer) Close() error {
	err := p.conn.Close()
	p.proc.Kill()
	_, werr := p.proc.Wait()
	return errors.Join(err, werr)
}

// order sends one order with pairs of keys and values as arguments, and
// decodes the reply into v, which may be nil. Arguments whose value is an empty
// string are left out.
func (p *Peer) order(ctx context.Context, v any, name string, args ...any) error {
	line := name
	for i := 0; i < len(args); i += 2 {
		if s := fmt.Sprint(args[i+1]); s != "" {
			line += fmt.Sprintf(" %v=%s", args[i], s)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	stop := context.AfterFunc(ctx, func() { p.conn.Close() })
	defer stop()
	_, err := fmt.Fprintln(p.conn, line)
	var reply []byte
	if err == nil {
		reply, err = p.r.ReadBytes('\n')
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		p.err = fmt.Errorf("guest: peer: %s: %w", name, err)
		return p.err
	}
	var status struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal(reply, &status); err != nil {
		return fmt.Errorf("guest: peer: %s: reply %q: %w", name, reply, err)
	}
	if !status.OK {
		return &PeerError{Order: line, Why: status.Error}
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(reply, v)
}

// nextID returns a fresh id for a region, QP, SRQ or window. A peer has 4096 in its
// life.
func (p *Peer) nextID() uint32 { return p.ids.Add(1) }

// Access is a set of rights to memory.
type Access uint

// The rights, with the values of enum ibv_access_flags.
const (
	LocalWrite Access = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
	BindWindow
	ZeroBased
)

// AccessAll is every right but BindWindow, and no ZeroBased.
const AccessAll = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic

// String lists the rights as the peer's orders name them.
func (a Access) String() string {
	var s []string
	for i, n := range []string{"lw", "rw", "rr", "ra", "mw", "zb"} {
		if a&(1<<i) != 0 {
			s = append(s, n)
		}
	}
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ",")
}
