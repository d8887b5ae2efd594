package roce

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/rocinante-rdma/roce/mr"
)

// MR is a memory region: a buffer that the device may access. All methods are safe
// for concurrent use.
type MR struct {
	pd     *PD
	region *mr.Region
}

// RegOption is an option of [PD.RegMR].
type RegOption func(*regConfig)

type regConfig struct {
	iova    uint64
	iovaSet bool
}

// WithIOVA chooses the address by which work requests and peers name the region's
// first byte. The default is the buffer's address in this process (in a simulated
// network one from its seed), or 0 with AccessZeroBased, which tells peers nothing
// about this process [ibv_reg_mr_iova].
func WithIOVA(addr uint64) RegOption {
	return func(c *regConfig) { c.iova, c.iovaSet = addr, true }
}

// defaultIOVA is the buffer's address in this process; in a simulated network, where
// runs shall repeat, one from the seed.
func (d *Device) defaultIOVA(buf []byte, access Access) uint64 {
	if d.addresses == nil {
		return mr.Address(buf)
	}
	iova := d.addresses() & simulatedSpace
	if access&AccessRemoteAtomic != 0 {
		iova += mr.Address(buf) % mr.AtomicSize
	}
	return iova
}

// simulatedSpace has page addresses of 46 bits.
const simulatedSpace = 1<<46 - 1<<12

// RegMR registers a buffer. The device refers to it until [MR.Close]. The error
// matches *[RegisterError] if the buffer and the rights do not go together.
//
// A buffer may be of any length, and of memory that the caller mapped: a file,
// shared memory, huge pages. What peers write is in the file, and what is in the file
// they read. Unmapping it, or truncating the file, while the region is registered
// kills the process at the next access of a peer [ibv_reg_mr].
func (p *PD) RegMR(buf []byte, access Access, opts ...RegOption) (*MR, error) {
	var cfg regConfig
	for _, o := range opts {
		o(&cfg)
	}
	if !cfg.iovaSet && access&AccessZeroBased == 0 && len(buf) > 0 {
		cfg.iova = p.dev.defaultIOVA(buf, access)
	}
	region, err := p.dev.memory.Register(p.id, buf, cfg.iova, access)
	if err != nil {
		return nil, fmt.Errorf("roce: %w", err)
	}
	m := &MR{pd: p, region: region}
	if err := p.adopt("register memory", func() error { p.mrs[m] = struct{}{}; return nil }); err != nil {
		p.dev.memory.Deregister(region)
		return nil, err
	}
	return m, nil
}

// String names the region in messages.
func (m *MR) String() string {
	return fmt.Sprintf("MR 0x%08x (%d bytes)", uint32(m.region.LKey()), len(m.region.Bytes()))
}

// Bytes is the registered buffer itself.
func (m *MR) Bytes() []byte { return m.region.Bytes() }

// Access is what the region permits.
func (m *MR) Access() Access { return m.region.Access() }

// SGE names n bytes of the region from offset off on, for a work request. Like a
// slice expression it panics if they are not in the region.
func (m *MR) SGE(off, n int) SGE {
	b := m.region.Bytes()
	_ = b[off : off+n : len(b)]
	return SGE{Addr: m.region.Base() + uint64(off), Len: saturated(uint64(n)), LKey: m.region.LKey()}
}

// Remote names the whole region for the peer: what to send it so that it can READ,
// WRITE or do atomics here. Its key is 0 if the region permits peers nothing. Of a
// region of 2^32 bytes or more it names the beginning: see [MR.RemoteAt].
func (m *MR) Remote() Remote { return m.RemoteAt(0, len(m.region.Bytes())) }

// RemoteAt names n bytes of the region from offset off on for the peer. Lengths on the
// wire have 32 bits, but addresses have 64: so every part of a larger region can be
// named. Like a slice expression it panics if they are not in the region.
func (m *MR) RemoteAt(off, n int) Remote {
	b := m.region.Bytes()
	_ = b[off : off+n : len(b)]
	return Remote{Addr: m.region.Base() + uint64(off), Key: m.region.RKey(), Len: saturated(uint64(n))}
}

// saturated is n, or the largest length that 32 bits hold, which no message has.
func saturated(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

// LoadUint64 reads the 8 bytes at an offset, in host byte order and in one piece,
// while peers may be writing them. The address of the offset must be a multiple of
// 8. See [AccessPolled].
func (m *MR) LoadUint64(off int) uint64 { return mr.LoadUint64(m.region.Bytes()[off:]) }

// Close takes the region away from the device and its peers. When it returns no
// byte of the buffer is read or written any more; work that still names the region
// fails. It is an error, which names them, if windows are bound to the region: then
// nothing has happened. Closing again does nothing [ibv_dereg_mr].
func (m *MR) Close() error {
	if !m.pd.dev.memory.Deregister(m.region) {
		return fmt.Errorf("roce: close %s: bound to it: %s: invalidate or close them first",
			m, strings.Join(m.pd.boundTo(m.region), ", "))
	}
	m.pd.dev.shard.Quiesce() // also if somebody else is closing it
	m.pd.dev.mu.Lock()
	delete(m.pd.mrs, m)
	m.pd.dev.mu.Unlock()
	return nil
}

// Remote names a window of a peer's memory.
type Remote struct {
	Addr uint64
	Key  RKey
	Len  uint32 // bytes
}

// remoteSize is the length of a Remote's binary form.
const remoteSize = 16

// Slice narrows the window to n bytes from offset off on. Like a slice expression
// it panics if they are not in the window.
func (r Remote) Slice(off, n int) Remote {
	if off < 0 || n < 0 || uint64(off)+uint64(n) > uint64(r.Len) {
		panic(fmt.Sprintf("roce: slice [%d, +%d) of a remote window of %d bytes", off, n, r.Len))
	}
	return Remote{r.Addr + uint64(off), r.Key, uint32(n)}
}

// String shows address, key and length.
func (r Remote) String() string {
	return fmt.Sprintf("0x%x (R_Key 0x%08x, %d bytes)", r.Addr, uint32(r.Key), r.Len)
}

// MarshalBinary gives 16 bytes in network order: address, key, length. It never
// fails.
func (r Remote) MarshalBinary() ([]byte, error) {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, remoteSize), r.Addr)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Key))
	return binary.BigEndian.AppendUint32(b, r.Len), nil
}

// UnmarshalBinary reads what MarshalBinary gave.
func (r *Remote) UnmarshalBinary(b []byte) error {
	if len(b) != remoteSize {
		return fmt.Errorf("roce: unmarshal a Remote from %d bytes: it has %d", len(b), remoteSize)
	}
	*r = Remote{binary.BigEndian.Uint64(b), RKey(binary.BigEndian.Uint32(b[8:])), binary.BigEndian.Uint32(b[12:])}
	return nil
}
