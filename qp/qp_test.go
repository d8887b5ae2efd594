package qp_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
)

// memory resolves every local piece to zero bytes; key 0 is not valid.
type memory struct{}

func (memory) ReadLocal(s qp.SGE) ([]byte, bool) { return make([]byte, s.Len), s.LKey != 0 }

func piece(n uint32) qp.SGE { return qp.SGE{Addr: 0x1000, Len: n, LKey: 1} }

func openSend(depth, sges, inline int) *qp.SendQueue {
	q := qp.NewSendQueue(depth, sges, inline)
	q.SetState(qp.StateRTS)
	return q
}

// TestPostSnapshots proves C08: what a work request says when it is posted counts,
// whatever the caller does with it afterwards.
func TestPostSnapshots(t *testing.T) {
	q := openSend(4, 3, 0)
	list := []qp.SGE{piece(10), piece(0), piece(20)}
	wr := qp.SendWR{ID: 7, Op: qp.OpWrite, SGL: list, RemoteAddr: 5, RKey: 6}
	require.NoError(t, q.Post(&wr, memory{}))
	list[0], wr.ID, wr.RemoteAddr = piece(99), 8, 9
	w := q.At(q.Head())
	require.Equal(t, uint64(7), w.ID)
	require.Equal(t, uint64(5), w.RemoteAddr)
	require.Equal(t, uint32(30), w.Len)
	require.Equal(t, []qp.SGE{piece(10), piece(20)}, w.SGL, "empty pieces are left out")
}

// TestPostRefuses proves that each bad work request is refused by an error that
// names the field, and that nothing is posted.
func TestPostRefuses(t *testing.T) {
	big := piece(qp.MaxMessage)
	for name, c := range map[string]struct {
		wr    qp.SendWR
		field string
	}{
		"unknown op":          {qp.SendWR{Op: 99}, "Op"},
		"too many pieces":     {qp.SendWR{Op: qp.OpSend, SGL: []qp.SGE{piece(1), piece(1), piece(1)}}, "SGL"},
		"both forms":          {qp.SendWR{Op: qp.OpSend, SGE: piece(1), SGL: []qp.SGE{piece(1)}}, "SGE"},
		"message too long":    {qp.SendWR{Op: qp.OpSend, SGL: []qp.SGE{big, piece(1)}}, "SGL"},
		"piece too long":      {qp.SendWR{Op: qp.OpSend, SGE: piece(qp.MaxMessage + 1)}, "SGE"},
		"atomic of 4 bytes":   {qp.SendWR{Op: qp.OpFetchAdd, SGE: piece(4)}, "SGE"},
		"inline READ":         {qp.SendWR{Op: qp.OpRead, Flags: qp.Inline, SGE: piece(4)}, "Flags"},
		"inline bind":         {qp.SendWR{Op: qp.OpBindMW, Flags: qp.Inline, Bind: new(mr.Binding)}, "Flags"},
		"bind of nothing":     {qp.SendWR{Op: qp.OpBindMW}, "Bind"},
		"bind with data":      {qp.SendWR{Op: qp.OpBindMW, SGE: piece(4), Bind: new(mr.Binding)}, "SGE"},
		"invalidate w. data":  {qp.SendWR{Op: qp.OpLocalInv, SGE: piece(4)}, "SGE"},
		"unknown flag":        {qp.SendWR{Op: qp.OpSend, Flags: 0x80}, "Flags"},
		"inline too long":     {qp.SendWR{Op: qp.OpSend, Flags: qp.Inline, SGE: piece(65)}, "SGE"},
		"inline, L_Key wrong": {qp.SendWR{Op: qp.OpSend, Flags: qp.Inline, SGE: qp.SGE{Len: 4}}, "SGE"},
	} {
		t.Run(name, func(t *testing.T) {
			q := openSend(4, 2, 64)
			var e *qp.WRError
			require.ErrorAs(t, q.Post(&c.wr, memory{}), &e)
			require.Equal(t, c.field, e.Field)
			require.Zero(t, q.Len())
		})
	}
	require.NoError(t, openSend(1, 1, 0).Post(&qp.SendWR{Op: qp.OpSend, SGE: big}, memory{}), "2^31 bytes are allowed (C19)")
}

// TestQueueFull proves that a queue takes exactly its depth, also when that is no
// power of two, and takes more once elements were popped.
func TestQueueFull(t *testing.T) {
	q := openSend(5, 1, 0)
	for i := range 40 {
		for q.Len() < 5 {
			require.NoError(t, q.Post(&qp.SendWR{ID: uint64(i), Op: qp.OpSend}, memory{}))
		}
		require.ErrorIs(t, q.Post(&qp.SendWR{Op: qp.OpSend}, memory{}), qp.ErrQueueFull)
		q.Pop()
	}
	r := qp.NewRecvQueue(3, 1)
	r.SetState(qp.StateInit)
	for range 3 {
		require.NoError(t, r.Post(&qp.RecvWR{SGE: piece(1)}))
	}
	require.ErrorIs(t, r.Post(&qp.RecvWR{}), qp.ErrQueueFull)
}

// TestPostStates proves which states take sends and which receives (10.3.1).
func TestPostStates(t *testing.T) {
	for _, s := range []qp.State{qp.StateReset, qp.StateInit, qp.StateRTR, qp.StateRTS, qp.StateSQD, qp.StateErr} {
		sq, rq := qp.NewSendQueue(1, 1, 0), qp.NewRecvQueue(1, 1)
		sq.SetState(s)
		rq.SetState(s)
		var fault *qp.StateError
		if err := sq.Post(&qp.SendWR{Op: qp.OpSend}, memory{}); s >= qp.StateRTS {
			require.NoError(t, err, s)
		} else {
			require.ErrorAs(t, err, &fault, s)
		}
		if err := rq.Post(&qp.RecvWR{}); s != qp.StateReset {
			require.NoError(t, err, s)
		} else {
			require.ErrorAs(t, err, &fault, s)
		}
	}
}

// TestTransitions proves the state table: each legal step with exactly its required
// attributes, and none without one of them.
func TestTransitions(t *testing.T) {
	good := qp.Attr{
		PKey: bth.DefaultPKey, Access: mr.RemoteWrite, PathMTU: 1024, DestQPN: 2, DestAddr: netip.MustParseAddr("10.0.0.1"),
		MaxDestRdAtomic: 16, MinRNRTimer: 12, Timeout: 14, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 16,
	}
	steps := []struct {
		from, to qp.State
		need     qp.Mask
	}{
		{qp.StateReset, qp.StateInit, qp.MaskPKey | qp.MaskAccess},
		{qp.StateInit, qp.StateRTR, qp.MaskAV | qp.MaskPathMTU | qp.MaskDestQPN | qp.MaskRQPSN | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer},
		{qp.StateRTR, qp.StateRTS, qp.MaskTimeout | qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskSQPSN | qp.MaskMaxRdAtomic},
	}
	for _, s := range steps {
		a := good
		a.State = s.to
		require.NoError(t, qp.CheckModify(s.from, &a, s.need|qp.MaskState))
		for bit := qp.Mask(2); bit <= s.need; bit <<= 1 {
			if s.need&bit == 0 {
				continue
			}
			var e *qp.AttrError
			require.ErrorAs(t, qp.CheckModify(s.from, &a, s.need&^bit|qp.MaskState), &e)
			require.Equal(t, bit.String(), e.Attr)
		}
	}
	for _, to := range []qp.State{qp.StateRTS, qp.StateSQE} {
		a := qp.Attr{State: to}
		var fault *qp.StateError
		require.ErrorAs(t, qp.CheckModify(qp.StateReset, &a, qp.MaskState), &fault)
	}
	for s := qp.StateReset; s <= qp.StateErr; s++ {
		for _, to := range []qp.State{qp.StateReset, qp.StateErr} {
			a := qp.Attr{State: to}
			require.NoError(t, qp.CheckModify(s, &a, qp.MaskState))
		}
	}
}

// TestAttrRanges proves that every attribute out of range is refused by name (R08:
// an RNR retry count of 8 is one of them).
func TestAttrRanges(t *testing.T) {
	toRTR := qp.MaskState | qp.MaskAV | qp.MaskPathMTU | qp.MaskDestQPN | qp.MaskRQPSN | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer
	toRTS := qp.MaskState | qp.MaskTimeout | qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskSQPSN | qp.MaskMaxRdAtomic
	rtr := qp.Attr{State: qp.StateRTR, PathMTU: 256, DestQPN: 2, DestAddr: netip.MustParseAddr("fd00::1")}
	rts := qp.Attr{State: qp.StateRTS}
	for name, c := range map[string]struct {
		from   qp.State
		base   qp.Attr
		mask   qp.Mask
		change func(*qp.Attr)
	}{
		"PathMTU":         {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.PathMTU = 1500 }},
		"DestQPN":         {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.DestQPN = 1 << 24 }},
		"DestAddr":        {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.DestAddr = netip.Addr{} }},
		"DestQPN ":        {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.DestQPN = 1 }},
		"DestQPN  ":       {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.DestQPN = 0xffffff }},
		"DestAddr ":       {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.DestAddr = netip.MustParseAddr("ff02::1") }},
		"RQPSN":           {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.RQPSN = 1 << 24 }},
		"MaxDestRdAtomic": {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.MaxDestRdAtomic = 129 }},
		"MinRNRTimer":     {qp.StateInit, rtr, toRTR, func(a *qp.Attr) { a.MinRNRTimer = 32 }},
		"SQPSN":           {qp.StateRTR, rts, toRTS, func(a *qp.Attr) { a.SQPSN = 1 << 24 }},
		"Timeout":         {qp.StateRTR, rts, toRTS, func(a *qp.Attr) { a.Timeout = 32 }},
		"RetryCount":      {qp.StateRTR, rts, toRTS, func(a *qp.Attr) { a.RetryCount = 8 }},
		"RNRRetry":        {qp.StateRTR, rts, toRTS, func(a *qp.Attr) { a.RNRRetry = 8 }},
		"MaxRdAtomic":     {qp.StateRTR, rts, toRTS, func(a *qp.Attr) { a.MaxRdAtomic = -1 }},
	} {
		a := c.base
		require.NoError(t, qp.CheckModify(c.from, &a, c.mask))
		c.change(&a)
		var e *qp.AttrError
		require.True(t, errors.As(qp.CheckModify(c.from, &a, c.mask), &e), name)
		require.Equal(t, strings.TrimSpace(name), e.Attr)
	}
}
