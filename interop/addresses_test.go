//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// addressCells are operations on regions with other addresses than their own, in one
// direction.
func addressCells(w way) (all []cell) {
	all = append(all, chosenAddress{"a chosen address", 0x5eed_0000_0000}, chosenAddress{"the address 0", 0})
	if w.requests == guest.FromGuest { // the guest has not the memory
		all = append(all, farAddress{})
	}
	return all
}

// chosenAddress are operations on a region that begins at an address of the
// responder's choice.
type chosenAddress struct {
	name string
	iova uint64
}

func (c chosenAddress) String() string { return "region at " + c.name }

func (c chosenAddress) run(t *testing.T, b *bench, w way) {
	p := b.connect(t, patient)
	if w.requests == guest.FromGuest {
		b.ourRegion(t, p, make([]byte, memorySize), c.iova)
	} else {
		region, err := b.peer.RegisterAt(bounded(t), memorySize, guest.AccessAll, c.iova)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, region.Deregister(bounded(t))) })
		p.kernel.mem = region
	}
	operate(t, p, w)
}

// ourRegion has our end use a region of its own, until the test ends.
func (b *bench) ourRegion(t *testing.T, p *pair, buf []byte, iova uint64) {
	t.Helper()
	access := allRights
	if iova == 0 {
		access |= roce.AccessZeroBased
	}
	region, err := b.pd.RegMR(buf, access, roce.WithIOVA(iova))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, region.Close()) })
	require.Equal(t, iova, region.Remote().Addr)
	p.ours.mem = region
}

// operate does every operation once.
func operate(t *testing.T, p *pair, w way) {
	t.Helper()
	req, resp := w.ends(p)
	for i, c := range opcodeCells(fewLengths) {
		c.run(t, req, resp, uint64(i))
	}
}

// farAddress are operations on our memory more than 4 GiB behind the beginning of its
// region. What lies before is never touched, and takes no memory.
type farAddress struct{}

func (farAddress) String() string { return "region of more than 4 GiB" }

func (farAddress) run(t *testing.T, b *bench, w way) {
	border := int64(4 << 30)                        // no constant: it does not fit the ints of 32-bit systems, for which this is only vetted
	origin := int(border) - inboxOff - guard - 2000 // a message that arrives begins below the border, and ends above
	buf, err := unix.Mmap(-1, 0, int(border)+memorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(buf)) })
	p := b.connect(t, patient)
	b.ourRegion(t, p, buf, 0x5eed_0000_0000)
	p.ours.origin = origin / 8 * 8 // atomics
	operate(t, p, w)
}
