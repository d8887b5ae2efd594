package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
)

// More than 32 bits can say is refused, not cut: a write of 4 GiB + 8 is none of 8.
func TestSGETooLongIsRefused(t *testing.T) {
	size := uint64(1)<<32 + 8
	if uint64(int(size)) != size {
		t.Skip("needs a 64-bit address space")
	}
	buf, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer unix.Munmap(buf)
	p := newPair(t)
	region, err := p.a.pd.RegMR(buf, 0)
	require.NoError(t, err)
	_, err = p.a.qp.PostSend(roce.SendWR{Op: roce.OpSend, SGE: region.SGE(0, int(size))})
	var wrong *roce.WRError
	require.ErrorAs(t, err, &wrong)
	require.NoError(t, region.Close())
}
