package nic

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/rocinante-rdma/roce/wire"
)

// Peer is the prepared form of a path over the wire. Its headers change by themselves
// when a MAC does.
type Peer struct {
	template atomic.Pointer[wire.Template]
	path     wire.Path // without Link; under the lock of peers
	from     *device
}

// Template is the headers of the next packet. Packets reserved with an earlier one
// keep it.
func (p *Peer) Template() *wire.Template { return p.template.Load() }

// aim makes the headers anew, for the neighbour's MAC and the interface's.
func (p *Peer) aim(mac wire.MAC) {
	p.path.SrcMAC, p.path.DstMAC = *p.from.mac.Load(), mac
	p.template.Store(p.path.Template())
}

// hopKey names a neighbour.
type hopKey struct {
	device int // interface index
	next   netip.Addr
}

// neighbour is a next hop, with the peers behind it. Peers are referred to weakly:
// one lives as long as a path does.
type neighbour struct {
	key     hopKey
	mac     wire.MAC // under the lock of peers, like all but wanted
	changes int      // of the MAC, as the kernel told
	holders int      // calls of Resolve under way
	peers   []weak.Pointer[Peer]
	wanted  atomic.Int32 // how often it was wanted since a goroutine began to look for it
}

// live are the peers that are in use.
func (nb *neighbour) live() (peers []*Peer) {
	for _, w := range nb.peers {
		if p := w.Value(); p != nil {
			peers = append(peers, p)
		}
	}
	return peers
}

// turn notes the neighbour's MAC and returns the addresses of the peers that it moved.
func (nb *neighbour) turn(mac wire.MAC) (moved []netip.Addr) {
	if nb.mac == mac {
		return nil
	}
	nb.mac = mac
	return nb.aim()
}

// aim turns all peers to the neighbour's MAC and returns their addresses.
func (nb *neighbour) aim() (moved []netip.Addr) {
	for _, p := range nb.live() {
		p.aim(nb.mac)
		if !slices.Contains(moved, p.path.Dst) {
			moved = append(moved, p.path.Dst)
		}
	}
	return moved
}

// peers are those of a NIC, by their neighbours.
type peers struct {
	mu         sync.Mutex
	neighbours map[hopKey]*neighbour
	added      int // peers since the last sweep
	sweepAfter int
}

// hold returns a neighbour, made if need be, which stays known until release. changes
// is how often its MAC was told to change until now.
func (s *peers) hold(key hopKey) (nb *neighbour, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.neighbours == nil {
		s.neighbours = make(map[hopKey]*neighbour)
	}
	if nb = s.neighbours[key]; nb == nil {
		nb = &neighbour{key: key}
		s.neighbours[key] = nb
	}
	nb.holders++
	return nb, nb.changes
}

func (s *peers) release(nb *neighbour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nb.holders--
	if nb.holders == 0 && len(nb.peers) == 0 {
		delete(s.neighbours, nb.key)
	}
}

// add makes a peer behind a neighbour that is held. mac is what the kernel knew after
// so many changes; what it told since is newer.
func (s *peers) add(nb *neighbour, from *device, path wire.Path, mac wire.MAC, changes int) *Peer {
	path.Link = nil
	p := &Peer{path: path, from: from}
	s.mu.Lock()
	defer s.mu.Unlock()
	if nb.changes == changes {
		nb.mac = mac
	}
	p.aim(nb.mac)
	nb.peers = append(nb.peers, weak.Make(p))
	if s.added++; s.added > s.sweepAfter {
		s.sweep()
	}
	return p
}

// sweep forgets the peers that no path refers to any more, and neighbours without
// peers. It comes after as many new peers as the last one found alive, so its cost
// per peer is constant.
func (s *peers) sweep() {
	const atLeast = 64
	alive := 0
	for key, nb := range s.neighbours {
		nb.peers = slices.DeleteFunc(nb.peers, func(w weak.Pointer[Peer]) bool { return w.Value() == nil })
		alive += len(nb.peers)
		if len(nb.peers) == 0 && nb.holders == 0 {
			delete(s.neighbours, key)
		}
	}
	s.added, s.sweepAfter = 0, max(atLeast, alive)
}

// move notes the MAC that the kernel has for a neighbour, and returns the addresses of
// the peers that it moved.
func (s *peers) move(key hopKey, mac wire.MAC) (moved []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nb := s.neighbours[key]
	if nb == nil {
		return nil
	}
	nb.changes++
	return nb.turn(mac)
}

// changesOf is how often a neighbour's MAC was told to change until now.
func (s *peers) changesOf(nb *neighbour) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return nb.changes
}

// found notes the MAC that the kernel had for a neighbour after so many changes, unless
// it told of another one since; and returns the addresses of the peers that it moved.
func (s *peers) found(nb *neighbour, mac wire.MAC, changes int) (moved []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if nb.changes != changes {
		return nil
	}
	return nb.turn(mac)
}

// renew makes the headers of all peers anew, after the MAC of an interface changed.
func (s *peers) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nb := range s.neighbours {
		nb.aim()
	}
}

// find returns a neighbour if it has peers.
func (s *peers) find(key hopKey) *neighbour {
	s.mu.Lock()
	defer s.mu.Unlock()
	if nb := s.neighbours[key]; nb != nil && len(nb.live()) > 0 {
		return nb
	}
	return nil
}

// inUse are the neighbours that have peers.
func (s *peers) inUse() (list []*neighbour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nb := range s.neighbours {
		if len(nb.live()) > 0 {
			list = append(list, nb)
		}
	}
	return list
}
