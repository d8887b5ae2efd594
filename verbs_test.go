package roce_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
)

// lengths are around every edge of a path MTU of 1024 bytes.
var lengths = []int{0, 1, 2, 3, 4, 31, 1023, 1024, 1025, 2047, 2048, 2049, 3*1024 + 5, 20_000}

// Every operation of every length: the bytes arrive, nothing beside them changes,
// the completions say what they should (W01, C01, C02, C18).
func TestOperationsAtEveryLength(t *testing.T) {
	for _, op := range []roce.Op{roce.OpSend, roce.OpSendImm, roce.OpWrite, roce.OpWriteImm, roce.OpRead} {
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) {
				p := newPair(t)
				fill(p.a.mr.Bytes(), 1)
				fill(p.b.mr.Bytes(), 2)
				src, dst := p.a.mr.Bytes()[:n], p.b.mr.Bytes()
				if op == roce.OpRead {
					src, dst = p.b.mr.Bytes()[100:100+n], p.a.mr.Bytes()
				}
				want := bytes.Clone(src)
				beside := bytes.Clone(dst[n+100:])
				remote := p.b.mr.Remote()
				remote.Addr += 100
				if n == 0 {
					remote = roce.Remote{Addr: 1, Key: 0xdeadbeef}
				}
				p.b.recv(9, 100, 30_000)
				p.a.send(roce.SendWR{
					ID: 5, Op: op, SGE: p.a.mr.SGE(0, n), Imm: 0xfeedc0de, Flags: roce.Signaled,
					RemoteAddr: remote.Addr, RKey: remote.Key,
				})
				wc := p.wait(p.a, 1)[0]
				require.NoError(t, wc.Err())
				require.EqualValues(t, 5, wc.ID)
				require.Equal(t, p.a.qp.QPN(), wc.QPN)
				require.Zero(t, wc.Flags&roce.WCFlagImm, "the sender's completion carries no immediate")
				require.Equal(t, map[roce.Op]roce.WCOpcode{
					roce.OpSend: roce.WCSend, roce.OpSendImm: roce.WCSend,
					roce.OpWrite: roce.WCWrite, roce.OpWriteImm: roce.WCWrite, roce.OpRead: roce.WCRead,
				}[op], wc.Opcode)
				at := 100
				if op == roce.OpRead {
					at = 0
				}
				require.Equal(t, want, dst[at:at+n])
				require.Equal(t, beside, dst[n+100:])

				if op == roce.OpWrite || op == roce.OpRead {
					require.Zero(t, p.b.cq.Poll(make([]roce.WC, 1)), "the peer notices nothing")
					return
				}
				got := p.wait(p.b, 1)[0]
				require.NoError(t, got.Err())
				require.EqualValues(t, 9, got.ID)
				require.EqualValues(t, n, got.ByteLen)
				require.Equal(t, p.a.qp.QPN(), got.SrcQP)
				if op != roce.OpSend {
					require.NotZero(t, got.Flags&roce.WCFlagImm)
					require.Equal(t, uint32(0xfeedc0de), got.Imm)
				}
				if op == roce.OpWriteImm {
					require.Equal(t, roce.WCRecvWriteImm, got.Opcode)
				} else {
					require.Equal(t, roce.WCRecv, got.Opcode)
				}
			})
		}
	}
}

func TestAtomics(t *testing.T) {
	p := newPair(t)
	at := p.b.mr.Remote().Slice(64, 8)
	do := func(wr roce.SendWR) uint64 {
		wr.SGE, wr.Flags, wr.RemoteAddr, wr.RKey = p.a.mr.SGE(0, 8), roce.Signaled, at.Addr, at.Key
		p.a.send(wr)
		require.NoError(t, p.wait(p.a, 1)[0].Err())
		return p.a.mr.LoadUint64(0)
	}
	require.EqualValues(t, 0, do(roce.SendWR{Op: roce.OpFetchAdd, Add: 41}))
	require.EqualValues(t, 41, do(roce.SendWR{Op: roce.OpFetchAdd, Add: 1}))
	require.EqualValues(t, 42, do(roce.SendWR{Op: roce.OpCompareSwap, Compare: 41, Swap: 7}), "unequal")
	require.EqualValues(t, 42, do(roce.SendWR{Op: roce.OpCompareSwap, Compare: 42, Swap: 7}), "equal")
	require.EqualValues(t, 7, p.b.mr.LoadUint64(64))
}

// Gathered from and scattered to several pieces; inline data may be changed at once.
func TestPiecesAndInline(t *testing.T) {
	p := newPair(t)
	copy(p.a.mr.Bytes(), "one two three")
	_, err := p.b.qp.PostRecv(roce.RecvWR{SGL: []roce.SGE{p.b.mr.SGE(0, 2), p.b.mr.SGE(10, 0), p.b.mr.SGE(20, 100)}})
	require.NoError(t, err)
	p.b.recv(0, 200, 100)
	p.a.send(roce.SendWR{Op: roce.OpSend, SGL: []roce.SGE{p.a.mr.SGE(8, 5), p.a.mr.SGE(3, 1), p.a.mr.SGE(0, 3)}})
	inline := roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(4, 3), Flags: roce.Inline | roce.Signaled}
	p.a.send(inline)
	copy(p.a.mr.Bytes()[4:], "---")
	p.wait(p.a, 1)
	p.wait(p.b, 2)
	require.Equal(t, "th", string(p.b.mr.Bytes()[:2]))
	require.Equal(t, "ree one", string(p.b.mr.Bytes()[20:27]))
	require.Equal(t, "two", string(p.b.mr.Bytes()[200:203]))
}

// C08: the request and its SGL may be changed as soon as PostSend returns.
func TestPostingTakesASnapshot(t *testing.T) {
	p := newPair(t)
	copy(p.a.mr.Bytes(), "right wrong")
	p.b.recv(0, 0, 100)
	sgl := []roce.SGE{p.a.mr.SGE(0, 5)}
	p.a.send(roce.SendWR{Op: roce.OpSend, SGL: sgl})
	sgl[0] = p.a.mr.SGE(6, 5)
	p.wait(p.b, 1)
	require.Equal(t, "right", string(p.b.mr.Bytes()[:5]))
}

func TestPostingRefuses(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{SendDepth: 2, RecvDepth: 2, MaxSGE: 2, MaxInline: 8})
	var state *roce.StateError
	_, err := p.a.qp.PostSend(roce.SendWR{Op: roce.OpSend})
	require.ErrorAs(t, err, &state)
	require.Equal(t, roce.StateReset, state.State)
	_, err = p.a.qp.PostRecv(roce.RecvWR{})
	require.ErrorAs(t, err, &state, "a receive needs INIT")

	require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	sge := p.a.mr.SGE(0, 16)
	for name, c := range map[string]struct {
		wr    roce.SendWR
		field string
	}{
		"too many pieces":   {roce.SendWR{Op: roce.OpSend, SGL: []roce.SGE{sge, sge, sge}}, "SGL"},
		"both forms":        {roce.SendWR{Op: roce.OpSend, SGE: sge, SGL: []roce.SGE{sge}}, "SGE"},
		"too much inline":   {roce.SendWR{Op: roce.OpSend, SGE: sge, Flags: roce.Inline}, "SGE"},
		"inline READ":       {roce.SendWR{Op: roce.OpRead, SGE: sge, Flags: roce.Inline}, "Flags"},
		"unknown operation": {roce.SendWR{Op: 99}, "Op"},
		"unknown flag":      {roce.SendWR{Flags: 0x80}, "Flags"},
		"atomic of 16":      {roce.SendWR{Op: roce.OpFetchAdd, SGE: sge}, "SGE"},
	} {
		n, err := p.a.qp.PostSend(roce.SendWR{Op: roce.OpWrite}, c.wr, roce.SendWR{Op: roce.OpWrite})
		var typed *roce.WRError
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, c.field, typed.Field, name)
		require.Equal(t, 1, n, "%s: what came before was posted", name)
		require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
		require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	}
	n, err := p.a.qp.PostSend(make([]roce.SendWR, 3)...)
	require.ErrorIs(t, err, roce.ErrQueueFull)
	require.Equal(t, 2, n)
	n, err = p.a.qp.PostRecv(make([]roce.RecvWR, 3)...)
	require.ErrorIs(t, err, roce.ErrQueueFull)
	require.Equal(t, 2, n)
}

// What the peer refuses, and what both ends say about it.
func TestRefusedWork(t *testing.T) {
	for name, c := range map[string]struct {
		wr     func(p *pair) roce.SendWR
		status roce.Status
		theirs transport.Rule
	}{
		"unknown key": {func(p *pair) roce.SendWR {
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: p.b.mr.Remote().Addr, RKey: 1}
		}, roce.StatusRemoteAccess, transport.RuleKey},
		"outside the region": {func(p *pair) roce.SendWR {
			r := p.b.mr.Remote()
			return roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr + uint64(r.Len) - 7, RKey: r.Key}
		}, roce.StatusRemoteAccess, transport.RuleRange},
		"misaligned atomic": {func(p *pair) roce.SendWR {
			r := p.b.mr.Remote()
			return roce.SendWR{Op: roce.OpFetchAdd, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr + 4, RKey: r.Key}
		}, roce.StatusRemoteInvalid, transport.RuleMisaligned},
		"read-only region": {func(p *pair) roce.SendWR {
			m, err := p.b.pd.RegMR(make([]byte, 8), roce.AccessRemoteRead)
			require.NoError(p.t, err)
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: m.Remote().Addr, RKey: m.Remote().Key}
		}, roce.StatusRemoteAccess, transport.RuleAccess},
		"another domain": {func(p *pair) roce.SendWR {
			pd, err := p.b.dev.AllocPD()
			require.NoError(p.t, err)
			m, err := pd.RegMR(make([]byte, 8), allRights)
			require.NoError(p.t, err)
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: m.Remote().Addr, RKey: m.Remote().Key}
		}, roce.StatusRemoteAccess, transport.RulePD},
		"closed region": {func(p *pair) roce.SendWR {
			r := p.b.mr.Remote()
			require.NoError(p.t, p.b.mr.Close())
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key}
		}, roce.StatusRemoteAccess, transport.RuleKey},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			wr := c.wr(p)
			wr.ID, wr.Flags = 3, roce.Signaled
			p.a.send(wr, roce.SendWR{ID: 4, Op: roce.OpSend})
			wcs := p.wait(p.a, 2)
			require.Equal(t, c.status, wcs[0].Status)
			var refused *roce.RemoteError
			require.ErrorAs(t, wcs[0].Err(), &refused)
			require.ErrorIs(t, wcs[1].Err(), roce.ErrFlushed)
			require.EqualValues(t, 4, wcs[1].ID, "unsignaled work completes when it fails")

			var mine, theirs *roce.QPError
			require.ErrorAs(t, p.a.qp.Err(), &mine)
			require.True(t, mine.Remote)
			require.Equal(t, p.a.qp.QPN(), mine.QPN)
			require.Equal(t, p.b.qp.QPN(), mine.PeerQPN)
			require.Equal(t, netip.MustParseAddr("10.0.0.2"), mine.Peer)
			require.ErrorAs(t, p.b.qp.Err(), &theirs)
			require.Equal(t, c.theirs, theirs.Rule, theirs.Error())
			t.Logf("%v\n%v", mine, theirs)
		})
	}
}

func TestLocalProtectionError(t *testing.T) {
	p := newPair(t)
	wr := roce.SendWR{ID: 3, Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8)}
	wr.SGE.LKey ^= 0xff
	p.a.send(wr)
	require.Equal(t, roce.StatusLocalProtection, p.wait(p.a, 1)[0].Status)
	require.Equal(t, roce.StateErr, p.a.qp.State())
}

func TestSilentPeer(t *testing.T) {
	p := newPair(t, roce.WithRetry(10, 2, 7))
	p.world.Faults.Add(simnet.Drop(simnet.Match{From: "a"}))
	p.a.send(roce.SendWR{Op: roce.OpWrite})
	wc := p.wait(p.a, 1)[0]
	require.Equal(t, roce.StatusRetryExceeded, wc.Status)
	require.ErrorContains(t, p.a.qp.Err(), "check that the peer runs")
	require.EqualValues(t, 2, p.a.qp.Stats().Retransmitted)
}

func TestReceiverNeverReady(t *testing.T) {
	p := newPair(t, roce.WithRetry(14, 7, 3), roce.WithMinRNRTimer(1))
	p.a.send(roce.SendWR{Op: roce.OpSend})
	require.Equal(t, roce.StatusRNRRetryExceeded, p.wait(p.a, 1)[0].Status)
	require.ErrorContains(t, p.a.qp.Err(), "post receives earlier")
}

// C13, C14: lifetimes.
func TestParentsOutliveTheirChildren(t *testing.T) {
	p := newPair(t)
	err := p.a.pd.Close()
	require.ErrorContains(t, err, p.a.qp.String())
	require.ErrorContains(t, err, p.a.mr.String())
	require.ErrorContains(t, p.a.cq.Close(), p.a.qp.String())

	for range 2 {
		require.NoError(t, p.a.qp.Close())
		require.NoError(t, p.a.mr.Close())
		require.NoError(t, p.a.pd.Close())
		require.NoError(t, p.a.cq.Close())
	}
	_, err = p.a.qp.PostSend(roce.SendWR{Op: roce.OpSend})
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = p.a.qp.PostRecv(roce.RecvWR{})
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState), net.ErrClosed)
	_, err = p.a.pd.RegMR(make([]byte, 1), 0)
	require.ErrorIs(t, err, net.ErrClosed)

	require.NoError(t, p.b.dev.Close())
	require.NoError(t, p.b.dev.Close())
	_, err = p.b.dev.AllocPD()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = p.b.dev.CreateCQ(1)
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = p.b.qp.PostSend(roce.SendWR{Op: roce.OpSend})
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, "DOWN", p.b.dev.Port().State)
}

// C13: a QP that failed is reset and used again; another QP on its CQ notices
// nothing.
func TestResetAndUseAgain(t *testing.T) {
	p := newPair(t)
	p.a.recv(1, 0, 8)
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	require.ErrorIs(t, p.a.qp.Err(), roce.ErrFlushed)
	for _, q := range []*roce.QP{p.a.qp, p.b.qp} {
		require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
	}
	require.NoError(t, p.a.qp.Err())
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
	require.ErrorIs(t, p.wait(p.a, 1)[0].Err(), roce.ErrFlushed, "completions from before stay")
	p.a.send(roce.SendWR{ID: 2, Op: roce.OpWrite, Flags: roce.Signaled})
	wc := p.wait(p.a, 1)[0]
	require.NoError(t, wc.Err())
	require.EqualValues(t, 2, wc.ID)
}

func TestManualDevicesCannotWait(t *testing.T) {
	p := newPair(t)
	_, err := p.a.cq.Wait(t.Context(), make([]roce.WC, 1))
	require.ErrorIs(t, err, roce.ErrManual)
	_, err = p.a.pd.CreateConn(roce.ConnConfig{})
	require.ErrorIs(t, err, roce.ErrManual)
}

func TestCountersHaveNames(t *testing.T) {
	p := newPair(t)
	p.a.send(roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled})
	p.wait(p.a, 1)
	counters := map[string]uint64{}
	for _, c := range p.b.dev.Stats() {
		counters[c.Name] = c.Value
	}
	require.EqualValues(t, 1, counters["packets received"])
	require.EqualValues(t, 1, counters["received: expected request"])
	require.EqualValues(t, 1, counters["sent: acknowledges everything up to its PSN"])
}

// From post to completion the API allocates nothing.
func TestVerbsAllocateNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newPair(t)
	out := make([]roce.WC, 4)
	ping := roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 3000), Flags: roce.Signaled}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, err1 := p.b.qp.PostRecv(roce.RecvWR{SGE: p.b.mr.SGE(0, 4096)})
		_, err2 := p.a.qp.PostSend(ping)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 2; n += p.a.cq.Poll(out) + p.b.cq.Poll(out) {
			if _, err := p.world.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}))
}
