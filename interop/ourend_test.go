//go:build linux

package interop

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// ourEnd is the end of the stack under test.
type ourEnd struct {
	mem *roce.MR
	cq  *roce.CQ
	qp  *roce.QP
}

func (e *ourEnd) String() string { return "ours" }

func (e *ourEnd) fill(_ *testing.T, off, n int, seed uint64) {
	e.sync()
	copy(e.mem.Bytes()[off:off+n], guest.Pattern(seed, n))
	e.sync()
}

func (e *ourEnd) sum(_ *testing.T, off, n int) [sha256.Size]byte {
	e.sync()
	return sha256.Sum256(e.mem.Bytes()[off : off+n])
}

// sync orders what the test and the device do to the memory, for the race detector:
// that the peer's completions tell of it, Go cannot know.
func (e *ourEnd) sync() { e.qp.Stats() }

func (e *ourEnd) remote(off int) target {
	r := e.mem.Remote()
	return target{r.Addr + uint64(off), uint32(r.Key)}
}

func (e *ourEnd) limited(t *testing.T, access roce.Access) target {
	mr, err := e.qp.PD().RegMR(make([]byte, 4096), access)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mr.Close()) })
	return target{mr.Remote().Addr, uint32(mr.Remote().Key)}
}

func (e *ourEnd) post(t *testing.T, w work) {
	t.Helper()
	_, err := e.qp.PostSend(roce.SendWR{
		ID: w.id, Op: w.op, Flags: roce.Signaled, SGE: e.mem.SGE(w.off, w.n), Imm: w.imm,
		RemoteAddr: w.at.addr, RKey: roce.RKey(w.at.key), Compare: w.compare, Swap: w.swap, Add: w.add,
	})
	require.NoError(t, err)
}

func (e *ourEnd) postRecv(t *testing.T, id uint64, off, n int) {
	t.Helper()
	_, err := e.qp.PostRecv(roce.RecvWR{ID: id, SGE: e.mem.SGE(off, n)})
	require.NoError(t, err)
}

func (e *ourEnd) completions(t *testing.T, n int) (got []completion) {
	t.Helper()
	ctx := bounded(t)
	wcs := make([]roce.WC, n)
	for len(got) < n {
		k, err := e.cq.Wait(ctx, wcs[:n-len(got)])
		require.NoError(t, err, "%d of %d completions: %+v", len(got), n, got)
		for _, wc := range wcs[:k] {
			got = append(got, completion{wc.ID, wc.Status, wc.Opcode, int(wc.ByteLen), wc.Imm, wc.Flags&roce.WCFlagImm != 0})
		}
	}
	return got
}

func (e *ourEnd) state(*testing.T) roce.QPState { return e.qp.State() }

func (e *ourEnd) destroy(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Close())
	require.NoError(t, e.cq.Close())
}
