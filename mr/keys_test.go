package mr

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// uniform proves that counts of equally likely outcomes are as chance makes them: chi
// square within 6 standard deviations, which chance exceeds once in millions of runs.
func uniform(t *testing.T, what string, counts []int) {
	t.Helper()
	total := 0
	for _, n := range counts {
		total += n
	}
	want, chi := float64(total)/float64(len(counts)), 0.0
	require.Greater(t, want, 10.0, "too few")
	for _, n := range counts {
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	free := float64(len(counts) - 1)
	require.InDelta(t, 0, (chi-free)/math.Sqrt(2*free), 6, what)
}

// bytesOf counts the values of each byte of many numbers, the lowest byte first.
type bytesOf [][256]int

func (c bytesOf) count(x uint32) {
	for i := range c {
		c[i][x>>(8*i)&0xff]++
	}
}

func (c bytesOf) uniform(t *testing.T, what string) {
	t.Helper()
	for i := range c {
		uniform(t, what, c[i][:])
	}
}

// Who knows how many regions a device has, and the key of one of them, knows nothing of
// another's: over fresh devices the n-th key is as good as random, and so is its distance
// from the keys before it, in index and key byte.
func TestKeysTellNothingOfEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	buf := make([]byte, 1)
	first, last := make(bytesOf, 4), make(bytesOf, 4)
	difference, exclusive := make(bytesOf, 4), make(bytesOf, 4)
	for range 8_000 {
		table := NewTable(random.Uint64)
		var keys [3]Key
		for i := range keys {
			r, err := table.Register(1, buf, 0, RemoteRead)
			require.NoError(t, err)
			keys[i] = r.RKey()
		}
		first.count(uint32(keys[0]))
		last.count(uint32(keys[2]))
		difference.count(uint32(keys[2] - keys[1]))
		exclusive.count(uint32(keys[1] ^ keys[0]))
	}
	first.uniform(t, "the first key")
	last.uniform(t, "the third key")
	difference.uniform(t, "the distance of the third from the second")
	exclusive.uniform(t, "what the first two have in common")
}

// Slots at any distance, near and far, have indices that are as good as random.
func TestIndicesOfNeighboursAreUnrelated(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	for _, apart := range []uint32{1, 2, 3, 64, 4095, 4096, 4097, 1 << 20} {
		difference, exclusive := make(bytesOf, 3), make(bytesOf, 3) // indices have 24 bits
		for range 20_000 {
			p, slot := newPermutation(random.Uint64), random.Uint32N(MaxRegions-1<<20)
			a, b := p.forward(slot), p.forward(slot+apart)
			difference.count(b - a)
			exclusive.count(a ^ b)
		}
		difference.uniform(t, "difference")
		exclusive.uniform(t, "exclusive or")
	}
}

// Of all keys only those that were given open something: every key byte of every index
// near a key that was given, and every index with the byte of one.
func TestNoOtherKeyOpensAnything(t *testing.T) {
	table := NewTable(rand.New(rand.NewPCG(testenv.Seed(t), 2)).Uint64)
	given := map[Key]bool{}
	var some Key
	for range 1000 {
		r, err := table.Register(1, make([]byte, 8), 0, RemoteRead)
		require.NoError(t, err)
		some = r.RKey()
		given[some] = true
	}
	opens := func(k Key) bool {
		_, fault := table.ResolveRemote(1, 2, k, 0, 1, RemoteRead)
		return fault == NoFault
	}
	for off := range Key(1 << 17) {
		k := some - 1<<16 + off
		require.Equal(t, given[k], opens(k), "key 0x%08x", k)
	}
	for index := range Key(MaxRegions) {
		k := index<<8 | some&keyByte
		if given[k] != opens(k) {
			t.Fatalf("key 0x%08x", k)
		}
	}
}
