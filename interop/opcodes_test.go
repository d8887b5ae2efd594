//go:build linux

package interop

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// The opcode matrix: every operation of the reliable connection in every length, over
// both IP protocols, requested by each of the two ends.
var (
	transfers = []roce.Op{roce.OpSend, roce.OpSendImm, roce.OpWrite, roce.OpWriteImm, roce.OpRead}

	// Lengths around the pad, around the path MTU of 1,024 bytes, of several packets
	// and of many.
	lengths = []int{0, 1, 3, 1023, 1024, 1025, 4097, maxMessage}
	// The least that meets every opcode.
	fewLengths = []int{1, 4097}
)

// opcodeCell is one operation.
type opcodeCell struct {
	op   roce.Op
	n    int
	miss bool // of a CmpSwap: its comparison fails
}

func (c opcodeCell) String() string {
	switch {
	case c.miss:
		return fmt.Sprintf("%s that finds another value", c.op)
	case isAtomic(c.op):
		return c.op.String()
	}
	return fmt.Sprintf("%s of %d bytes", c.op, c.n)
}

func isAtomic(op roce.Op) bool { return op == roce.OpFetchAdd || op == roce.OpCompareSwap }

func opcodeCells(lengths []int) (cells []opcodeCell) {
	for _, op := range transfers {
		for _, n := range lengths {
			cells = append(cells, opcodeCell{op: op, n: n})
		}
	}
	return append(cells,
		opcodeCell{op: roce.OpFetchAdd, n: 8},
		opcodeCell{op: roce.OpCompareSwap, n: 8},
		opcodeCell{op: roce.OpCompareSwap, n: 8, miss: true},
	)
}

// testOpcodes runs the matrix and returns its rows.
func testOpcodes(t *testing.T, l *lab, lengths []int) (rows []Row) {
	cells := opcodeCells(lengths)
	require.Len(t, cells, len(transfers)*len(lengths)+3)
	seen := l.watched(t, func() {
		for _, f := range families {
			b := newBench(t, l, f)
			for _, w := range ways {
				t.Run(w.name+" over "+f.name, func(t *testing.T) {
					req, resp := w.ends(b.connect(t, patient))
					mark, passed := l.tap.mark(), 0
					for i, c := range cells {
						t.Run(c.String(), func(t *testing.T) {
							c.run(t, req, resp, uint64(i))
							passed++
						})
					}
					require.Equal(t, len(cells), passed, "cells that passed")
					seen := l.tap.since(mark)
					requireMSNs(t, seen, w, len(cells))
					rows = append(rows, l.row(t, "opcodes", w.name+" over "+f.name, passed, recorded(seen)))
				})
			}
		}
	})
	for _, w := range ways {
		requireEveryOpcode(t, w.name, opcodesOf(seen, w))
	}
	return rows
}

// requireEveryOpcode fails the test unless the opcodes are all those from 0x00 to 0x14
// and no other: every one of the reliable connection but SEND with Invalidate, and
// none that is reserved.
func requireEveryOpcode(t *testing.T, way string, opcodes []bth.Opcode) {
	t.Helper()
	var all []bth.Opcode
	for o := bth.RCSendFirst; o <= bth.RCFetchAdd; o++ {
		all = append(all, o)
	}
	require.Equal(t, all, opcodes, "opcodes on the wire: %s", way)
	t.Logf("%s: opcodes 0x00 to 0x14 were on the wire, the requests from one end, the responses from the other", way)
}

// opcodesOf lists the opcodes of the traffic in which one end requests and the other
// responds.
func opcodesOf(seen []*sighting, w way) (opcodes []bth.Opcode) {
	for _, s := range seen {
		if s.is(bth.Request) == (s.dir == w.requests) {
			opcodes = append(opcodes, s.BTH.Opcode)
		}
	}
	slices.Sort(opcodes)
	return slices.Compact(opcodes)
}

// requireMSNs fails the test unless the responder counted the messages one by one
// (IBTA vol. 1, 9.7.7.1), so that both ends count alike.
func requireMSNs(t *testing.T, seen []*sighting, w way, messages int) {
	t.Helper()
	var msns []int
	for _, s := range seen {
		if s.dir != w.requests && s.is(bth.HasAETH) {
			msns = append(msns, int(s.BTH.AETH.MSN))
		}
	}
	msns = slices.Compact(msns)
	for i, msn := range msns {
		require.Equal(t, 1+i, msn, "MSN")
	}
	require.Len(t, msns, messages, "MSNs")
}

// run does the operation and holds both ends' completions and memory against what
// they must be.
func (c opcodeCell) run(t *testing.T, req, resp end, id uint64) {
	if isAtomic(c.op) {
		c.runAtomic(t, req, resp, id)
		return
	}
	from, to := req, resp
	if c.op == roce.OpRead {
		from, to = resp, req
	}
	seed := 1000 + id
	from.fill(t, sourceOff, c.n, seed)
	to.fill(t, inboxOff, inboxSize, background)
	wr := work{id: id, op: c.op, off: sourceOff, n: c.n, imm: uint32(0xf0010203 + id)}
	switch c.op {
	case roce.OpSend, roce.OpSendImm:
		resp.postRecv(t, id, arrivalOff, c.n)
	case roce.OpWrite:
		wr.at = resp.remote(arrivalOff)
	case roce.OpWriteImm:
		wr.at = resp.remote(arrivalOff)
		resp.postRecv(t, id, arrivalOff, 0)
	case roce.OpRead:
		wr.off, wr.at = arrivalOff, resp.remote(sourceOff)
	}
	if c.n == 0 {
		wr.at = target{} // no byte is touched, so no key is needed (IBTA vol. 1, C9-88)
	}
	req.post(t, wr)
	requireRequesterDone(t, req.completions(t, 1)[0], wr)
	if consumesRecv(c.op) {
		requireReceived(t, resp.completions(t, 1)[0], wr)
	}
	require.Equal(t, withMessage(guest.Pattern(seed, c.n)), to.sum(t, inboxOff, inboxSize), "memory of the end that receives: %s", to)
}

func consumesRecv(op roce.Op) bool {
	return op == roce.OpSend || op == roce.OpSendImm || op == roce.OpWriteImm
}

// withMessage is the hash of an inbox that holds a message and its background.
func withMessage(message []byte) [sha256.Size]byte {
	inbox := guest.Pattern(background, inboxSize)
	copy(inbox[guard:], message)
	return sha256.Sum256(inbox)
}

var requesterOpcodes = map[roce.Op]roce.WCOpcode{
	roce.OpSend: roce.WCSend, roce.OpSendImm: roce.WCSend, roce.OpWrite: roce.WCWrite, roce.OpWriteImm: roce.WCWrite,
	roce.OpRead: roce.WCRead, roce.OpFetchAdd: roce.WCFetchAdd, roce.OpCompareSwap: roce.WCCompareSwap,
}

func requireRequesterDone(t *testing.T, c completion, w work) {
	t.Helper()
	require.Equal(t, roce.StatusSuccess, c.status, "status of the requester's completion")
	require.Equal(t, w.id, c.id)
	require.Equal(t, requesterOpcodes[w.op], c.opcode)
	if w.op == roce.OpRead || isAtomic(w.op) {
		require.Equal(t, w.n, c.bytes, "bytes of the requester's completion")
	}
}

func requireReceived(t *testing.T, c completion, w work) {
	t.Helper()
	want := completion{id: w.id, opcode: roce.WCRecv, bytes: w.n}
	if w.op == roce.OpWriteImm {
		want.opcode = roce.WCRecvWriteImm
	}
	if w.op == roce.OpSendImm || w.op == roce.OpWriteImm {
		want.imm, want.hasImm = w.imm, true
	}
	require.Equal(t, want, c, "the responder's completion")
}

// runAtomic does an atomic on a word that has a guard on either side.
func (c opcodeCell) runAtomic(t *testing.T, req, resp end, id uint64) {
	const zone = guard + 8 + guard
	seed := 1000 + id
	before := guest.Pattern(seed, zone)
	resp.fill(t, wordOff-guard, zone, seed)
	req.fill(t, inboxOff, inboxSize, background)
	old := nativeWord(before[guard:])
	wr := work{id: id, op: c.op, off: arrivalOff, n: 8, at: resp.remote(wordOff), add: 0xfedcba9876543210, swap: 0x1122334455667788, compare: old}
	is := wr.swap
	switch {
	case c.op == roce.OpFetchAdd:
		is = old + wr.add
	case c.miss:
		wr.compare++
		is = old
	}
	req.post(t, wr)
	requireRequesterDone(t, req.completions(t, 1)[0], wr)
	require.Equal(t, withMessage(before[guard:guard+8]), req.sum(t, inboxOff, inboxSize), "the requester's memory, with the old value")
	after := slices.Concat(before[:guard], nativeBytes(is), before[guard+8:])
	require.Equal(t, sha256.Sum256(after), resp.sum(t, wordOff-guard, zone), "the responder's memory, with the new value")
}
