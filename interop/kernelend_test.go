//go:build linux

package interop

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// kernelEnd is the end in the guest, on the kernel's rdma_rxe.
type kernelEnd struct {
	peer *guest.Peer
	mem  *guest.PeerRegion
	qp   *guest.PeerQP
}

func (e *kernelEnd) String() string { return "the kernel's" }

func (e *kernelEnd) fill(t *testing.T, off, n int, seed uint64) {
	t.Helper()
	require.NoError(t, e.mem.Fill(bounded(t), off, n, seed))
}

func (e *kernelEnd) sum(t *testing.T, off, n int) [sha256.Size]byte {
	t.Helper()
	sum, err := e.mem.SHA256(bounded(t), off, n)
	require.NoError(t, err)
	return sum
}

func (e *kernelEnd) remote(off int) target { return target{e.mem.Addr + uint64(off), e.mem.RKey} }

func (e *kernelEnd) limited(t *testing.T, access roce.Access) target {
	t.Helper()
	r, err := e.peer.Register(bounded(t), 4096, guest.Access(access))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Deregister(bounded(t))) })
	return target{r.Addr, r.RKey}
}

var peerOps = map[roce.Op]guest.PeerOp{
	roce.OpSend: guest.PeerSend, roce.OpSendImm: guest.PeerSendImm,
	roce.OpWrite: guest.PeerWrite, roce.OpWriteImm: guest.PeerWriteImm, roce.OpRead: guest.PeerRead,
	roce.OpFetchAdd: guest.PeerFetchAdd, roce.OpCompareSwap: guest.PeerCompareSwap,
	roce.OpSendInv: guest.PeerSendInv, roce.OpLocalInv: guest.PeerLocalInvalidate,
}

func (e *kernelEnd) post(t *testing.T, w work) {
	t.Helper()
	require.NoError(t, e.qp.Post(bounded(t), guest.PeerWR{
		ID: w.id, Op: peerOps[w.op], Mem: e.piece(w.off, w.n), Imm: w.imm,
		RemoteAddr: w.at.addr, RKey: w.at.key, Invalidate: w.at.key, Compare: w.compare, Swap: w.swap, Add: w.add, Fence: w.fence,
	}))
}

func (e *kernelEnd) postRecv(t *testing.T, id uint64, off, n int) {
	t.Helper()
	require.NoError(t, e.qp.PostRecv(bounded(t), id, e.piece(off, n)))
}

func (e *kernelEnd) piece(off, n int) guest.PeerMem {
	if n == 0 {
		return guest.PeerMem{}
	}
	return guest.PeerMem{Region: e.mem, Off: off, N: n}
}

func (e *kernelEnd) completions(t *testing.T, n int) (got []completion) {
	t.Helper()
	wcs, err := e.qp.Poll(bounded(t), n, stepTimeout/2)
	require.NoError(t, err)
	for _, wc := range wcs {
		got = append(got, completion{
			id: wc.ID, status: roce.Status(wc.Status), opcode: roce.WCOpcode(wc.Opcode), bytes: int(wc.ByteLen),
			imm: wc.Imm, hasImm: wc.HasImm, inv: wc.Inv, hasInv: wc.HasInv,
		})
	}
	require.Len(t, got, n, "completions of the kernel's end: %+v", got)
	return got
}

func (e *kernelEnd) state(t *testing.T) roce.QPState {
	t.Helper()
	s, err := e.qp.State(bounded(t))
	require.NoError(t, err)
	return roce.QPState(s)
}

func (e *kernelEnd) drain(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Drain(bounded(t)))
}

func (e *kernelEnd) drained(t *testing.T) {
	t.Helper()
	event, err := e.peer.Event(bounded(t), stepTimeout/2)
	require.NoError(t, err)
	require.Equal(t, guest.PeerSQDrained, event)
}

func (e *kernelEnd) resume(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Resume(bounded(t)))
}

// kernelWindow is a window of the kernel's end.
type kernelWindow struct {
	end *kernelEnd
	mw  *guest.PeerWindow
}

func (e *kernelEnd) window(t *testing.T) window {
	t.Helper()
	mw, err := e.peer.NewWindow(bounded(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mw.Free(bounded(t))) })
	return &kernelWindow{e, mw}
}

func (w *kernelWindow) bind(t *testing.T, id uint64, off, n int, access roce.Access) target {
	t.Helper()
	b, err := w.end.qp.Bind(bounded(t), id, w.mw, w.end.mem, off, n, guest.Access(access))
	require.NoError(t, err)
	return target{b.Addr, b.RKey}
}

func (e *kernelEnd) destroy(t *testing.T) {
	t.Helper()
	if e.qp != nil {
		require.NoError(t, e.qp.Destroy(bounded(t)))
		e.qp = nil
	}
}
