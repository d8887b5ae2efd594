//go:build linux

package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// PeerRegion is a memory region in the guest, page-aligned and at first zero.
type PeerRegion struct {
	peer *Peer
	id   uint32

	Addr uint64 // of its first byte, for remote operations
	RKey uint32
	LKey uint32
	Len  int // bytes
}

// Register allocates and registers n bytes with the given rights, named by their
// virtual address.
func (p *Peer) Register(ctx context.Context, n int, access Access) (*PeerRegion, error) {
	return p.register(ctx, n, access, "")
}

// RegisterAt does so, and the first byte is named by the address iova, which must be a
// page's.
func (p *Peer) RegisterAt(ctx context.Context, n int, access Access, iova uint64) (*PeerRegion, error) {
	return p.register(ctx, n, access, fmt.Sprint(iova))
}

func (p *Peer) register(ctx context.Context, n int, access Access, iova string) (*PeerRegion, error) {
	r := &PeerRegion{peer: p, id: p.nextID(), Len: n}
	if err := p.order(ctx, r, "mr", "id", r.id, "len", n, "access", access, "iova", iova); err != nil {
		return nil, err
	}
	return r, nil
}

// Deregister deregisters the region and frees its memory.
func (r *PeerRegion) Deregister(ctx context.Context) error {
	return r.peer.order(ctx, nil, "dereg", "mr", r.id)
}

// Fill writes Pattern(seed, n) at an offset.
func (r *PeerRegion) Fill(ctx context.Context, off, n int, seed uint64) error {
	return r.peer.order(ctx, nil, "fill", "mr", r.id, "off", off, "len", n, "seed", seed)
}

// SHA256 returns the hash of n bytes at an offset.
func (r *PeerRegion) SHA256(ctx context.Context, off, n int) (sum [sha256.Size]byte, err error) {
	var v struct{ SHA256 string }
	if err := r.peer.order(ctx, &v, "sha", "mr", r.id, "off", off, "len", n); err != nil {
		return sum, err
	}
	b, err := hex.DecodeString(v.SHA256)
	if err != nil || copy(sum[:], b) != len(sum) {
		return sum, fmt.Errorf("guest: peer: malformed hash %q", v.SHA256)
	}
	return sum, nil
}

// Read returns n bytes at an offset. It is meant for small ranges.
func (r *PeerRegion) Read(ctx context.Context, off, n int) ([]byte, error) {
	var v struct{ Hex string }
	if err := r.peer.order(ctx, &v, "read", "mr", r.id, "off", off, "len", n); err != nil {
		return nil, err
	}
	return hex.DecodeString(v.Hex)
}

// Write stores bytes at an offset. It is meant for small ranges.
func (r *PeerRegion) Write(ctx context.Context, off int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return r.peer.order(ctx, nil, "write", "mr", r.id, "off", off, "hex", hex.EncodeToString(b))
}
