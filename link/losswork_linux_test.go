package link_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/transport"
)

// lossEnd is a device with one queue pair, for all operations.
type lossEnd struct {
	*testing.T
	host *netns.Host
	dev  *roce.Device
	cq   *roce.CQ
	qp   *roce.QP
	mr   *roce.MR
}

func newLossEnd(t *testing.T, h *netns.Host, v6 bool, open func(*netns.Host, netip.Addr) (link.Link, error)) *lossEnd {
	t.Helper()
	e := &lossEnd{T: t, host: h}
	addr := h.IPv4
	if v6 {
		addr = h.IPv6
	}
	var l link.Link
	require.NoError(t, h.Do(func() (err error) { l, err = open(h, addr); return err }))
	var err error
	e.dev, err = roce.Open(l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.dev.Close()) })
	pd, err := e.dev.AllocPD()
	require.NoError(t, err)
	e.cq, err = e.dev.CreateCQ(4 * maxRounds)
	require.NoError(t, err)
	rights := roce.AccessLocalWrite | roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic
	e.mr, err = pd.RegMR(make([]byte, boutMemory), rights)
	require.NoError(t, err)
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, RecvDepth: 2*maxRounds + 1})
	require.NoError(t, err)
	return e
}

// connect connects to a peer, with timeouts of 34 ms.
func (e *lossEnd) connect(to *lossEnd) {
	retry := roce.WithRetry(13, roce.DefaultRetryCount, roce.DefaultRNRRetry)
	require.NoError(e, e.host.Do(func() error { return e.qp.Connect(to.qp.Info(), retry) }))
}

// counter is how often a rule decided on a packet.
func (e *lossEnd) counter(r transport.Rule) uint64 {
	for _, c := range e.dev.Stats() {
		if c.Name == "received: "+r.String() {
			return c.Value
		}
	}
	return 0
}

// Each round of a bout has a slot in each area of both ends' memory, at an odd place but
// for atomics.
const (
	maxRounds = 48
	slotSize  = 4096
	message   = 2500 // bytes: three packets
	note      = 65   // bytes: one packet

	messageArea = 0 // what SENDs and WRITEs take from x, and READs from y
	noteArea    = 1
	sentArea    = 2 // what messages of SENDs reach
	notedArea   = 3 // what notes of SENDs reach
	writtenArea = 4
	readArea    = 5 // x's
	oldArea     = 6 // what atomics return to x
	areas       = 7
	boutMemory  = areas*maxRounds*slotSize + 16 // and y's two words for atomics
	counterWord = boutMemory - 16
	swapWord    = boutMemory - 8
)

func place(area, round int) int { return (area*maxRounds+round)*slotSize + 17 }

// bout is rounds of all operations from x to y, and what must be in both ends' memory
// because of them.
type bout struct {
	*testing.T
	x, y         *lossEnd
	wantX, wantY []byte
	round        int
	received     int // by y
}

// newBout fills the memory and posts the receives, and one more: a message that is
// delivered twice shows.
func newBout(t *testing.T, rnd *rand.Rand, x, y *lossEnd) *bout {
	t.Helper()
	b := &bout{T: t, x: x, y: y}
	for _, m := range [][]byte{x.mr.Bytes(), y.mr.Bytes()} {
		for at := 0; at+8 <= len(m); at += 8 {
			binary.NativeEndian.PutUint64(m[at:], rnd.Uint64())
		}
	}
	b.wantX, b.wantY = slices.Clone(x.mr.Bytes()), slices.Clone(y.mr.Bytes())
	for round := range maxRounds {
		b.recv(sentArea, round)
		b.recv(notedArea, round)
	}
	b.recv(sentArea, 0)
	return b
}

func (b *bout) recv(area, round int) {
	_, err := b.y.qp.PostRecv(roce.RecvWR{ID: uint64(place(area, round)), SGE: b.y.mr.SGE(place(area, round), message)})
	require.NoError(b, err)
}

// run runs rounds, each when the one before has completed.
func (b *bout) run(rounds int) {
	b.Helper()
	for range rounds {
		b.post()
		b.requireCompleted()
		b.requireReceived(sentArea, message)
		b.requireReceived(notedArea, note)
		b.round++
	}
}

// operations of a round, in order.
var boutOpcodes = []roce.WCOpcode{
	roce.WCSend, roce.WCWrite, roce.WCRead, roce.WCFetchAdd, roce.WCCompareSwap, roce.WCSend,
}

// post posts a round.
func (b *bout) post() {
	r := b.round
	b.one(roce.SendWR{Op: roce.OpSend}, messageArea, message)
	copy(b.wantY[place(sentArea, r):], b.wantX[place(messageArea, r):][:message])

	b.one(roce.SendWR{Op: roce.OpWrite, RemoteAddr: uint64(place(writtenArea, r))}, messageArea, message)
	copy(b.wantY[place(writtenArea, r):], b.wantX[place(messageArea, r):][:message])

	b.one(roce.SendWR{Op: roce.OpRead, RemoteAddr: uint64(place(messageArea, r))}, readArea, message)
	copy(b.wantX[place(readArea, r):], b.wantY[place(messageArea, r):][:message])

	b.one(roce.SendWR{Op: roce.OpFetchAdd, RemoteAddr: counterWord, Add: 3}, oldArea, 8)
	old := binary.NativeEndian.Uint64(b.wantY[counterWord:])
	binary.NativeEndian.PutUint64(b.wantX[place(oldArea, r):], old)
	binary.NativeEndian.PutUint64(b.wantY[counterWord:], old+3)

	old = binary.NativeEndian.Uint64(b.wantY[swapWord:])
	swap := roce.SendWR{Op: roce.OpCompareSwap, RemoteAddr: swapWord, Compare: old, Swap: old ^ uint64(r+1)}
	b.atPlace(swap, place(oldArea, r)+8, 8)
	binary.NativeEndian.PutUint64(b.wantX[place(oldArea, r)+8:], old)
	binary.NativeEndian.PutUint64(b.wantY[swapWord:], swap.Swap)

	b.one(roce.SendWR{Op: roce.OpSend}, noteArea, note)
	copy(b.wantY[place(notedArea, r):], b.wantX[place(noteArea, r):][:note])
}

// one posts a work request on the round's slot of an area. Its remote address is
// within y's region.
func (b *bout) one(wr roce.SendWR, area, n int) { b.atPlace(wr, place(area, b.round), n) }

func (b *bout) atPlace(wr roce.SendWR, at, n int) {
	remote := b.y.mr.Remote()
	wr.ID, wr.Flags, wr.SGE = uint64(b.round), roce.Signaled, b.x.mr.SGE(at, n)
	wr.RemoteAddr, wr.RKey = wr.RemoteAddr+remote.Addr, remote.Key
	_, err := b.x.qp.PostSend(wr)
	require.NoError(b, err)
}

// requireCompleted waits for a round's completions, which must come in order.
func (b *bout) requireCompleted() {
	b.Helper()
	for _, opcode := range boutOpcodes {
		wc := b.x.completion()
		require.Equal(b, [2]any{uint64(b.round), opcode}, [2]any{wc.ID, wc.Opcode})
	}
}

// requireReceived waits for a message, which must be the next and arrive in its place.
func (b *bout) requireReceived(area, n int) {
	b.Helper()
	wc := b.y.completion()
	require.Equal(b, [2]int{place(area, b.round), n}, [2]int{int(wc.ID), int(wc.ByteLen)}, "place and length of a message")
	b.received++
}

// completion waits for the next one, which must be good.
func (e *lossEnd) completion() roce.WC {
	e.Helper()
	var wc [1]roce.WC
	_, err := e.cq.Wait(e.Context(), wc[:])
	require.NoError(e, err)
	require.NoError(e, wc[0].Err(), "counters: %v", e.dev.Stats())
	return wc[0]
}

// requireMemory holds all memory of both ends against what must be there, and y's
// requests executed against those that were posted.
func (b *bout) requireMemory() {
	b.Helper()
	var wc [1]roce.WC
	require.Zero(b, b.y.cq.Poll(wc[:]), "y has received more than was sent")
	require.True(b, slices.Equal(b.wantX, b.x.mr.Bytes()), "x's memory")
	require.True(b, slices.Equal(b.wantY, b.y.mr.Bytes()), "y's memory")
	s, n := b.y.qp.Stats(), uint64(b.round)
	require.Equal(b, [2]uint64{2 * n, n}, [2]uint64{s.Sends, s.Writes}, "SENDs and WRITEs carried out")
}
