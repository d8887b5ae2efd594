package demo

import "github.com/rocinante-rdma/roce"

// operation is something that A does with B. Slots of A's memory go with the slots
// of the same number in B's.
type operation struct {
	op     roce.Op
	name   string
	words  string // what happens, in a sentence or two
	recv   bool   // it consumes a receive of B
	imm    bool   // it carries immediate data
	atomic bool   // it works on the slots' first words only

	// fill completes the work request for a slot: what the atomics work with.
	fill func(b *memory, slot int, wr *roce.SendWR)
	// expect does to the expected memories what the operation has to do to the
	// real ones.
	expect func(a, b *memory, slot int)
}

var operations = []operation{
	{
		op: roce.OpSend, name: "SEND", recv: true, expect: atB,
		words: "A sends a message. B's program has said before, by posting a receive, where it goes.",
	},
	{
		op: roce.OpSendImm, name: "SEND with immediate", recv: true, imm: true, expect: atB,
		words: "The same, with 32 bits more that B's program finds in the completion.",
	},
	{
		op: roce.OpWrite, name: "WRITE", expect: atB,
		words: "A places bytes in B's memory, where B has allowed it. B's program is not involved.",
	},
	{
		op: roce.OpWriteImm, name: "WRITE with immediate", recv: true, imm: true, expect: atB,
		words: "A places bytes in B's memory, and B's program is told, with 32 bits: a receive completes.",
	},
	{
		op: roce.OpRead, name: "READ", expect: atA,
		words: "A fetches bytes from B's memory. B's device answers; B's program is not involved.",
	},
	{
		op: roce.OpFetchAdd, name: "FETCH AND ADD", atomic: true, fill: addend, expect: added,
		words: "A adds to 8 bytes in B's memory and learns what they were, in one indivisible step.",
	},
	{
		op: roce.OpCompareSwap, name: "COMPARE AND SWAP", atomic: true, fill: comparands, expect: swapped,
		words: "A sets 8 bytes in B's memory if they are what A thinks, and learns what they were.",
	},
}

// atB: the bytes of A's slot are in B's.
func atB(a, b *memory, slot int) { copy(b.expected(slot), a.expected(slot)) }

// atA: the bytes of B's slot are in A's.
func atA(a, b *memory, slot int) { copy(a.expected(slot), b.expected(slot)) }

// increment is what FETCH AND ADD adds.
const increment = 1

func addend(_ *memory, _ int, wr *roce.SendWR) { wr.Add = increment }

func added(a, b *memory, slot int) {
	was := b.expectedWord(slot)
	a.expectWord(slot, was)
	b.expectWord(slot, was+increment)
}

// COMPARE AND SWAP on slots with odd numbers compares with a wrong value: it must
// leave them alone.
func comparands(b *memory, slot int, wr *roce.SendWR) {
	was := b.expectedWord(slot)
	wr.Compare, wr.Swap = was+uint64(slot%2), successor(was)
}

func swapped(a, b *memory, slot int) {
	was := b.expectedWord(slot)
	a.expectWord(slot, was)
	if slot%2 == 0 {
		b.expectWord(slot, successor(was))
	}
}

// successor is what a word is swapped for.
func successor(was uint64) uint64 { return 2*was + 1 }

// length is how many bytes of a slot the operation works on.
func (o *operation) length(size int) int {
	if o.atomic {
		return word
	}
	return size
}
