package roce_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/ledger"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
)

// The soak: two devices do random operations on each other's memory over a network
// that loses, duplicates and reorders one frame in a hundred, each way. A model
// follows along. At every completion and at the end, memory is what the model says;
// each signaled work request completes once, in order. One seed in three has receivers
// that tell of their credits, another one receives from shared receive queues.

const (
	soakDepth  = 32
	soakRecvs  = 4
	soakMaxLen = 3*1024 + 100

	// A peer's memory: what is written, what is only read, and words for atomics.
	writeArea  = 0
	readArea   = 16 << 10
	atomicArea = 32 << 10
	areaSize   = 16 << 10
	atomics    = 64
	sharedSize = atomicArea + 8*atomics

	// One's own memory for work under way: a slot per work request.
	slotSize = 4096
	soakIOVA = 0x10_0000_0000
)

// soaker is one of the two sides, and the model of what it does to the other.
type soaker struct {
	t            *testing.T
	name         string
	rand         *rand.Rand
	dev          *roce.Device
	cq           *roce.CQ
	qp           *roce.QP
	srq          *roce.SRQ // where receives go; nil: to qp
	shared       *roce.MR  // the peer works on it
	slots, inbox *roce.MR
	peer         *soaker

	posted, done int      // signaled work requests
	left         int      // operations still to post
	works        []soaked // ring of soakDepth
	fenceNext    bool

	model   []byte   // what the peer's shared memory must be
	mailbox [][]byte // messages on their way to this side, in order
	arrived int
	recvs   int // posted and not used
}

// soaked is a work request under way and what it must give.
type soaked struct {
	op   roce.Op
	want []byte // READ and atomics: the bytes expected in the slot
}

func newSoaker(t *testing.T, w *simnet.World, seed uint64, name, addr string, ops int, tap trace.Tap) *soaker {
	t.Helper()
	dev, err := roce.Open(w.Link(name, netip.MustParseAddr(addr)), roce.Manual(), roce.WithTap(tap))
	require.NoError(t, err)
	w.Attach(dev)
	s := &soaker{t: t, name: name, rand: rand.New(rand.NewPCG(seed, uint64(len(addr)+int(addr[len(addr)-1])))), dev: dev, left: ops}
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	s.cq, err = dev.CreateCQ(soakDepth + soakRecvs)
	require.NoError(t, err)
	cfg := roce.QPConfig{SendCQ: s.cq, SendDepth: soakDepth, RecvDepth: soakRecvs}
	switch seed % 3 {
	case 1:
		cfg.Credits = true
	case 2:
		s.srq, err = pd.CreateSRQ(roce.SRQConfig{Depth: soakRecvs})
		require.NoError(t, err)
		cfg.SRQ = s.srq
	}
	s.qp, err = pd.CreateQP(cfg)
	require.NoError(t, err)
	reg := func(n int, iova uint64) *roce.MR {
		mr, err := pd.RegMR(make([]byte, n), allRights, roce.WithIOVA(iova))
		require.NoError(t, err)
		return mr
	}
	s.shared = reg(sharedSize, soakIOVA)
	s.slots = reg(soakDepth*slotSize, 2*soakIOVA)
	s.inbox = reg(soakRecvs*slotSize, 3*soakIOVA)
	s.works = make([]soaked, soakDepth)
	for i := range s.shared.Bytes() {
		s.shared.Bytes()[i] = byte(s.rand.Uint32())
	}
	return s
}

// meet makes two soakers peers.
func meet(a, b *soaker) {
	for _, s := range []*soaker{a, b} {
		other := map[*soaker]*soaker{a: b, b: a}[s]
		s.peer = other
		s.model = bytes.Clone(other.shared.Bytes())
		require.NoError(s.t, s.qp.Connect(other.qp.Info(), roce.WithPathMTU(1024)))
	}
}

// act posts and polls; it is called whenever something may have changed.
func (s *soaker) act() {
	s.poll()
	for s.recvs < soakRecvs && s.rand.IntN(8) != 0 { // else the peer meets an empty queue
		slot := (s.arrived + s.recvs) % soakRecvs
		s.postRecv(roce.RecvWR{ID: uint64(s.arrived + s.recvs), SGE: s.inbox.SGE(slot*slotSize, slotSize)})
		s.recvs++
	}
	for s.left > 0 && s.posted-s.done < soakDepth {
		s.post()
	}
}

func (s *soaker) postRecv(wr roce.RecvWR) {
	post := s.qp.PostRecv
	if s.srq != nil {
		post = s.srq.PostRecv
	}
	_, err := post(wr)
	require.NoError(s.t, err)
}

func (s *soaker) finished() bool { return s.left == 0 && s.posted == s.done }

// post draws an operation, tells the model of it and posts it.
func (s *soaker) post() {
	s.left--
	op := roce.Op(s.rand.IntN(7))
	n := s.length()
	slot := s.posted % soakDepth
	wr := roce.SendWR{ID: uint64(s.posted), Op: op, Flags: roce.Signaled, SGE: s.slots.SGE(slot*slotSize, n), Imm: uint32(s.posted)}
	if s.fenceNext {
		wr.Flags |= roce.Fence
		s.fenceNext = false
	}
	work := soaked{op: op}
	switch op {
	case roce.OpWrite, roce.OpWriteImm:
		s.write(&wr, n)
	case roce.OpSend, roce.OpSendImm:
		s.peer.mailbox = append(s.peer.mailbox, bytes.Clone(s.fill(wr.SGE)))
	case roce.OpRead:
		work.want = s.read(&wr, n)
	case roce.OpCompareSwap, roce.OpFetchAdd:
		wr.SGE = s.slots.SGE(slot*slotSize, 8)
		work.want = s.atomic(&wr)
	}
	s.works[slot] = work
	s.posted++
	_, err := s.qp.PostSend(wr)
	require.NoError(s.t, err)
}

func (s *soaker) length() int {
	edges := []int{0, 1, 3, 4, 1023, 1024, 1025, 2047, 2048, 2049}
	if s.rand.IntN(2) == 0 {
		return edges[s.rand.IntN(len(edges))]
	}
	return s.rand.IntN(soakMaxLen)
}

// fill writes random bytes to a piece of the slots and returns it.
func (s *soaker) fill(e roce.SGE) []byte {
	b := s.slots.Bytes()[e.Addr-2*soakIOVA:][:e.Len]
	for i := range b {
		b[i] = byte(s.rand.Uint32())
	}
	return b
}

func (s *soaker) remote(wr *roce.SendWR, off, n int) {
	r := s.peer.shared.Remote().Slice(off, n)
	wr.RemoteAddr, wr.RKey = r.Addr, r.Key
}

func (s *soaker) write(wr *roce.SendWR, n int) {
	off := writeArea + s.rand.IntN(areaSize-n)
	s.remote(wr, off, n)
	copy(s.model[off:], s.fill(wr.SGE))
	if wr.Op == roce.OpWriteImm {
		s.peer.mailbox = append(s.peer.mailbox, nil)
	}
}

// read draws a READ of memory that nobody writes, or of memory written by the
// requests before; then what follows is fenced, for RDMA orders a READ before later
// WRITEs only so (IBTA vol. 1, table 79).
func (s *soaker) read(wr *roce.SendWR, n int) []byte {
	area := readArea
	if s.rand.IntN(2) == 0 {
		area = writeArea
		s.fenceNext = true
	}
	off := area + s.rand.IntN(areaSize-n)
	s.remote(wr, off, n)
	return bytes.Clone(s.model[off : off+n])
}

func (s *soaker) atomic(wr *roce.SendWR) []byte {
	off := atomicArea + 8*s.rand.IntN(atomics)
	s.remote(wr, off, 8)
	was := binary.NativeEndian.Uint64(s.model[off:])
	is := was
	if wr.Op == roce.OpFetchAdd {
		wr.Add = s.rand.Uint64()
		is = was + wr.Add
	} else {
		wr.Compare, wr.Swap = was, s.rand.Uint64()
		if s.rand.IntN(2) == 0 {
			wr.Compare++
		} else {
			is = wr.Swap
		}
	}
	binary.NativeEndian.PutUint64(s.model[off:], is)
	return binary.NativeEndian.AppendUint64(nil, was)
}

// poll takes completions and holds them against the model.
func (s *soaker) poll() {
	var wcs [16]roce.WC
	for n := s.cq.Poll(wcs[:]); n > 0; n = s.cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			require.Equal(s.t, roce.StatusSuccess, wc.Status, "%s: %v", s.name, s.qp.Err())
			if wc.Opcode.Recv() {
				s.received(wc)
			} else {
				s.completed(wc)
			}
		}
	}
}

func (s *soaker) completed(wc roce.WC) {
	require.Equal(s.t, uint64(s.done), wc.ID, "%s: work completes once and in order", s.name)
	slot := s.done % soakDepth
	s.done++
	if want := s.works[slot].want; want != nil {
		got := s.slots.Bytes()[slot*slotSize:][:len(want)]
		require.True(s.t, bytes.Equal(want, got), "%s: %s %d brought other bytes", s.name, s.works[slot].op, wc.ID)
	}
}

func (s *soaker) received(wc roce.WC) {
	require.Equal(s.t, uint64(s.arrived), wc.ID, "%s: receives complete once and in order", s.name)
	slot := s.arrived % soakRecvs
	s.arrived++
	s.recvs--
	want := s.mailbox[0]
	s.mailbox = s.mailbox[1:]
	if wc.Opcode == roce.WCRecvWriteImm {
		require.Nil(s.t, want)
		return
	}
	require.Equal(s.t, len(want), int(wc.ByteLen), "%s: message %d", s.name, wc.ID)
	require.True(s.t, bytes.Equal(want, s.inbox.Bytes()[slot*slotSize:][:len(want)]), "%s: message %d has other bytes", s.name, wc.ID)
}

// soak runs ops operations from each side under a seed, and says what they met.
func soak(t *testing.T, seed uint64, ops int, tap func(name string) trace.Tap) (met roce.QPStats) {
	t.Helper()
	w := simnet.New(seed)
	bad := simnet.Random{Loss: 0.01, Dup: 0.01, Reorder: 0.01}
	w.Faults.Add(simnet.Randomly(simnet.Match{From: "a", To: "b"}, bad), simnet.Randomly(simnet.Match{From: "b", To: "a"}, bad))
	a := newSoaker(t, w, seed, "a", "10.0.0.1", ops, tap("a"))
	b := newSoaker(t, w, seed, "b", "10.0.0.2", ops, tap("b"))
	meet(a, b)
	err := w.RunUntil(func() bool {
		a.act()
		b.act()
		return a.finished() && b.finished()
	}, clock.Never-1)
	require.NoError(t, err)
	for _, s := range []*soaker{a, b} {
		require.True(t, bytes.Equal(s.model, s.peer.shared.Bytes()), "seed %d: memory of %s is not what the model says", seed, s.peer.name)
		require.Empty(t, s.mailbox)
		addStats(&met, s.qp.Stats())
		require.NoError(t, s.dev.Close())
	}
	return met
}

func addStats(sum *roce.QPStats, s roce.QPStats) {
	sum.Retransmitted += s.Retransmitted
	sum.Duplicates += s.Duplicates
	sum.Gaps += s.Gaps
	sum.RNRNAKs += s.RNRNAKs
	sum.Timeouts += s.Timeouts
}

func noTap(string) trace.Tap { return nil }

// TestSoak runs 100 seeds of 1,000 operations and 5 of 100,000; in its long form
// all 100 seeds of 100,000.
func TestSoak(t *testing.T) {
	const seeds, short, long = 100, 500, 50_000 // operations of each of the two sides
	first, set := testenv.SeedFromEnv(t)
	if !set {
		first = 1
	}
	full := 5
	switch {
	case testenv.Full():
		full = seeds
	case testenv.Race:
		full = 0
	}
	var met roce.QPStats
	for i := range uint64(seeds) {
		seed, ops := first+i, short
		if int(i) < full {
			ops = long
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			m := soak(t, seed, ops, noTap)
			addStats(&met, m)
		})
	}
	t.Logf("met %d retransmissions, %d duplicates, %d gaps, %d RNR NAKs, %d timeouts", met.Retransmitted, met.Duplicates, met.Gaps, met.RNRNAKs, met.Timeouts)
	for _, n := range []uint64{met.Retransmitted, met.Duplicates, met.Gaps, met.RNRNAKs} {
		require.Greater(t, n, uint64(seeds), "a soak that meets no trouble proves nothing")
	}
	if testenv.Full() {
		ledger.Append(t, ledger.Run{Test: "TestSoak", Seed: first, Executions: seeds * 2 * long})
	}
}

// TestSameSeedSameCapture proves determinism: the same seed gives the same pcapng,
// byte for byte, and another seed another.
func TestSameSeedSameCapture(t *testing.T) {
	capture := func(seed uint64) string {
		var out bytes.Buffer
		rec := trace.NewSync(trace.NewPcapng(&out, time.Time{}))
		soak(t, seed, 300, func(name string) trace.Tap { return rec.Device(name) })
		require.NoError(t, rec.Close())
		require.Greater(t, out.Len(), 100_000)
		return fmt.Sprintf("%x", sha256.Sum256(out.Bytes()))
	}
	require.Equal(t, capture(7), capture(7))
	require.NotEqual(t, capture(7), capture(8))
}
