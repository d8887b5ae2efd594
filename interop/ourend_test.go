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
	mem    *roce.MR
	origin int // in a region that is larger: the offset of the end's memory
	cq     *roce.CQ
	qp     *roce.QP
}

func (e *ourEnd) String() string { return "ours" }

func (e *ourEnd) fill(_ *testing.T, off, n int, seed uint64) {
	e.sync()
	copy(e.mem.Bytes()[e.origin+off:][:n], guest.Pattern(seed, n))
	e.sync()
}

func (e *ourEnd) sum(_ *testing.T, off, n int) [sha256.Size]byte {
	e.sync()
	return sha256.Sum256(e.mem.Bytes()[e.origin+off:][:n])
}

// sync orders what the test and the device do to the memory, for the race detector:
// that the peer's completions tell of it, Go cannot know.
func (e *ourEnd) sync() { e.qp.Stats() }

func (e *ourEnd) remote(off int) target {
	r := e.mem.Remote()
	return target{r.Addr + uint64(e.origin+off), uint32(r.Key)}
}

func (e *ourEnd) piece(off, n int) roce.SGE { return e.mem.SGE(e.origin+off, n) }

func (e *ourEnd) limited(t *testing.T, access roce.Access) target {
	mr, err := e.qp.PD().RegMR(make([]byte, 4096), access)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mr.Close()) })
	return target{mr.Remote().Addr, uint32(mr.Remote().Key)}
}

func (e *ourEnd) post(t *testing.T, w work) {
	t.Helper()
	flags := roce.Signaled
	if w.fence {
		flags |= roce.Fence
	}
	_, err := e.qp.PostSend(roce.SendWR{
		ID: w.id, Op: w.op, Flags: flags, SGE: e.piece(w.off, w.n), Imm: w.imm,
		RemoteAddr: w.at.addr, RKey: roce.RKey(w.at.key), Compare: w.compare, Swap: w.swap, Add: w.add,
	})
	require.NoError(t, err)
}

func (e *ourEnd) postRecv(t *testing.T, id uint64, off, n int) {
	t.Helper()
	_, err := e.qp.PostRecv(roce.RecvWR{ID: id, SGE: e.piece(off, n)})
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
			got = append(got, completion{
				id: wc.ID, status: wc.Status, opcode: wc.Opcode, bytes: int(wc.ByteLen),
				imm: wc.Imm, hasImm: wc.Flags&roce.WCFlagImm != 0, inv: wc.InvalidatedKey, hasInv: wc.Flags&roce.WCFlagInv != 0,
			})
		}
	}
	return got
}

func (e *ourEnd) state(*testing.T) roce.QPState { return e.qp.State() }

func (e *ourEnd) drain(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Modify(roce.QPAttr{State: roce.StateSQD, NotifyDrained: true}, roce.AttrState|roce.AttrNotifyDrained))
}

func (e *ourEnd) drained(t *testing.T) {
	t.Helper()
	awaitEvent(t, e.qp.PD().Device(), roce.Event{Kind: roce.EventDrained, QP: e.qp})
}

// awaitEvent waits for an event of a device; others, of what was before, do not matter.
func awaitEvent(t *testing.T, dev *roce.Device, wanted roce.Event) {
	t.Helper()
	for ctx := bounded(t); ; {
		select {
		case e := <-dev.Events():
			if e == wanted {
				return
			}
		case <-ctx.Done():
			require.FailNow(t, "the event never came", "%v", wanted)
		}
	}
}

// takeEvents takes the events that a device keeps, and makes room for more.
func takeEvents(dev *roce.Device) (taken []roce.Event) {
	for {
		select {
		case e := <-dev.Events():
			taken = append(taken, e)
		default:
			return taken
		}
	}
}

func (e *ourEnd) resume(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Modify(roce.QPAttr{State: roce.StateRTS}, roce.AttrState))
}

// ourWindow is a window of an end of ours.
type ourWindow struct {
	end *ourEnd
	mw  *roce.MW
}

func (e *ourEnd) window(t *testing.T) window {
	t.Helper()
	mw, err := e.qp.PD().AllocMW()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mw.Close()) })
	return &ourWindow{e, mw}
}

func (w *ourWindow) bind(t *testing.T, id uint64, off, n int, access roce.Access) target {
	t.Helper()
	wr := w.mw.Bind(w.end.mem, w.end.origin+off, n, access)
	wr.ID, wr.Flags = id, roce.Signaled
	_, err := w.end.qp.PostSend(wr)
	require.NoError(t, err)
	at := target{w.end.remote(off).addr, uint32(wr.RKey)}
	if access&roce.AccessZeroBased != 0 {
		at.addr = 0
	}
	return at
}

func (e *ourEnd) destroy(t *testing.T) {
	t.Helper()
	require.NoError(t, e.qp.Close())
	require.NoError(t, e.cq.Close())
}
