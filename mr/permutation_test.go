package mr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every index belongs to exactly one slot, and back.
func TestPermutationIsABijection(t *testing.T) {
	var k uint64
	p := newPermutation(func() uint64 { k += 0x1234567890abcdef; return k })
	hit := make([]bool, MaxRegions)
	for slot := range uint32(MaxRegions) {
		index := p.forward(slot)
		if index >= MaxRegions || hit[index] || p.backward(index) != slot {
			t.Fatalf("slot %d has index %d, which is taken, too large or leads back elsewhere", slot, index)
		}
		hit[index] = true
	}
	require.Len(t, hit, MaxRegions)
}
