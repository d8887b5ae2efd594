package roce_test

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/mr"
)

// near are lengths and offsets around n, and wild ones.
func near(n int) *rapid.Generator[uint64] {
	edges := []uint64{0, 1, 7, 8, uint64(n - 1), uint64(n), uint64(n + 1), siegeMTU + 1, 1 << 31, 1<<31 + 1, 1<<31 + 4, 3 << 30, 1<<32 - 1}
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64Range(0, uint64(n)), rapid.Uint64Range(0, 3*siegeMTU))
}

// access is a request of the enemy's, by any key that there is or was, or nearly.
type access struct {
	op   string
	key  uint32
	va   uint64
	n    uint32
	seen *view // what the key opens for the victim's peer; nil: nothing
}

func (m *memoryModel) drawAccess(t *rapid.T) access {
	ops := []string{"WRITE", "WRITE imm", "READ", "CmpSwap", "FetchAdd"}
	if len(m.views) == 0 {
		t.Skip("nothing was ever registered")
	}
	candidates := m.live(func(*view) bool { return true })
	if len(candidates) == 0 || rapid.IntRange(0, 5).Draw(t, "closed ones too") == 5 {
		candidates = m.views
	}
	v := draw(t, candidates)
	a := access{op: rapid.SampledFrom(ops).Draw(t, "operation"), key: v.key}
	switch {
	case a.op == "CmpSwap" || a.op == "FetchAdd":
		a.n = mr.AtomicSize
	case rapid.Bool().Draw(t, "short"):
		a.n = uint32(rapid.IntRange(1, v.n).Draw(t, "length"))
	default:
		a.n = uint32(near(v.n).Draw(t, "length"))
	}
	// Where it just fits, or just does not.
	fits := uint64(max(v.n-int(a.n), 0))
	a.va = v.base + rapid.OneOf(
		rapid.SampledFrom([]uint64{0, fits, fits &^ 7}), rapid.Uint64Range(0, fits),
		rapid.SampledFrom([]uint64{fits + 1, ^uint64(0), uint64(v.n) - 1, uint64(v.n), 1 << 32, 1 << 63}), near(v.n),
	).Draw(t, "offset")
	if a.n == mr.AtomicSize && rapid.IntRange(0, 3).Draw(t, "misaligned") == 3 {
		a.va ^= 4
	}
	if rapid.IntRange(0, 7).Draw(t, "another key") == 7 {
		a.key ^= rapid.SampledFrom([]uint32{1, 0x80, 0x100, 0x80000000}).Draw(t, "bit")
	}
	for _, u := range m.live(func(u *view) bool { return u.key == a.key }) {
		a.seen = u
	}
	return a
}

// judge says how the access has to be refused, 0 if it is allowed.
func (a access) judge() bth.Syndrome {
	need := map[string]roce.Access{"READ": roce.AccessRemoteRead, "CmpSwap": roce.AccessRemoteAtomic, "FetchAdd": roce.AccessRemoteAtomic}[a.op]
	if need == 0 {
		need = roce.AccessRemoteWrite
	}
	switch {
	case a.n > 1<<31:
		return bth.NAKInvalidRequest
	case a.n == 0:
		return 0
	case a.seen == nil, !a.seen.own, a.seen.access&need == 0, !a.seen.holds(a.va, uint64(a.n)):
		return bth.NAKRemoteAccess
	case need == roce.AccessRemoteAtomic && a.va%mr.AtomicSize != 0:
		return bth.NAKInvalidRequest
	}
	return 0
}

// try makes the access and holds what happens against the oracle.
func (m *memoryModel) try(t *rapid.T) {
	a := m.drawAccess(t)
	want := a.judge()
	if a.op == "WRITE imm" {
		m.victim.recv(9, 0, 0)
	}
	what := fmt.Sprintf("%s of %d bytes at %#x, key %#x: %+v", a.op, a.n, a.va, a.key, a.seen)
	if a.op == "READ" || a.op == "CmpSwap" || a.op == "FetchAdd" {
		m.ask(t, a, want, what)
	} else {
		m.write(a, want, what)
	}
	m.same(what)
	if m.victim.qp.State() != roce.StateRTS || m.psn.Diff(enemyPSN) > 1<<20 {
		m.again()
	}
}

// same proves that memory is what the oracle says.
func (m *memoryModel) same(what string) {
	for i := range m.arena.cell {
		if !bytes.Equal(m.arena.want[i], m.arena.cell[i]) {
			m.rt.Fatalf("memory of cell %d is not what it has to be after %s", i, what)
		}
	}
}

// refused proves that a NAK was all that the enemy got.
func (m *memoryModel) refused(want bth.Syndrome, psn bth.PSN, what string) {
	got := m.heard()
	require.Len(m.rt, got, 1, what)
	require.Equal(m.rt, want, got[0].AETH.Syndrome, what)
	require.Equal(m.rt, psn, got[0].PSN, what)
	require.Equal(m.rt, roce.StateErr, m.victim.qp.State(), what)
}

func (m *memoryModel) request(op bth.Opcode, opts ...bthtest.Option) {
	m.forged(op, append([]bthtest.Option{bthtest.PSN(m.psn), bthtest.AckReq}, opts...)...).fire()
}

// write sends a WRITE, of what is too long the first packet only.
func (m *memoryModel) write(a access, want bth.Syndrome, what string) {
	const most = 4 * siegeMTU
	data := make([]byte, min(a.n, most))
	for i := range data {
		data[i] = m.plain()
	}
	whole := int(a.n) == len(data)
	first := m.psn
	for off := 0; off == 0 || off < len(data); off += siegeMTU {
		end := min(off+siegeMTU, len(data))
		m.request(writeOpcode(off == 0, whole && end == len(data), a.op == "WRITE imm"),
			bthtest.RETH(a.va, a.key, a.n), bthtest.Payload(data[off:end]))
		m.psn = m.psn.Add(1)
	}
	m.settle()
	if want != 0 {
		m.refused(want, first, what)
		return
	}
	require.Equal(m.rt, roce.StateRTS, m.victim.qp.State(), what)
	if a.n > 0 {
		copy(m.expected(a.seen, a.va, len(data)), data)
	}
	m.deafen()
	if !whole {
		m.again()
	}
}

func writeOpcode(first, last, imm bool) bth.Opcode {
	switch {
	case first && last && imm:
		return bth.RCWriteOnlyImm
	case first && last:
		return bth.RCWriteOnly
	case first:
		return bth.RCWriteFirst
	case last && imm:
		return bth.RCWriteLastImm
	case last:
		return bth.RCWriteLast
	}
	return bth.RCWriteMiddle
}

// ask sends a READ or atomic and compares the answer.
func (m *memoryModel) ask(t *rapid.T, a access, want bth.Syndrome, what string) {
	atomic := bth.AtomicETH{VA: a.va, RKey: a.key, SwapAdd: rapid.Uint64().Draw(t, "operand")}
	word := make([]byte, 8) // what is there
	if want == 0 && a.n > 0 {
		copy(word, m.expected(a.seen, a.va, min(int(a.n), 8)))
	}
	was := binary.NativeEndian.Uint64(word)
	if rapid.Bool().Draw(t, "equal") {
		atomic.Compare = was
	}
	op := map[string]bth.Opcode{"READ": bth.RCReadRequest, "CmpSwap": bth.RCCompareSwap, "FetchAdd": bth.RCFetchAdd}[a.op]
	first := m.psn
	m.request(op, bthtest.RETH(a.va, a.key, a.n), bthtest.Atomic(atomic))
	m.settle()
	if want != 0 {
		m.refused(want, first, what)
		return
	}
	var data []byte
	for _, p := range m.heard() {
		require.Equal(m.rt, m.psn, p.PSN, what)
		m.psn = m.psn.Add(1)
		data = append(append(data, p.Payload[0]...), p.Payload[1]...)
		if op != bth.RCReadRequest {
			require.Equal(m.rt, was, p.AtomicAck, what)
		}
	}
	switch {
	case op == bth.RCReadRequest && a.n > 0:
		require.Equal(m.rt, m.expected(a.seen, a.va, int(a.n)), data, what)
	case op == bth.RCFetchAdd:
		binary.NativeEndian.PutUint64(m.expected(a.seen, a.va, 8), was+atomic.SwapAdd)
	case op == bth.RCCompareSwap && was == atomic.Compare:
		binary.NativeEndian.PutUint64(m.expected(a.seen, a.va, 8), atomic.SwapAdd)
	}
}
