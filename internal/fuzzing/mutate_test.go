package fuzzing

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var testSeeds = [][]byte{
	[]byte("a packet of twenty-eight byte"),
	bytes.Repeat([]byte{0}, 40),
	{1},
	{},
}

func TestInputIsAFunctionOfItsNumber(t *testing.T) {
	forwards, backwards := newMutator("T", testSeeds), newMutator("T", testSeeds)
	var in [1000][]byte
	for i := range in {
		in[i] = bytes.Clone(forwards.input(uint64(i)))
	}
	for i := len(in) - 1; i >= 0; i-- {
		require.Equal(t, in[i], bytes.Clone(backwards.input(uint64(i))), "input %d", i)
	}
}

func TestInputsDiffer(t *testing.T) {
	m, other := newMutator("T", testSeeds[:2]), newMutator("U", testSeeds[:2])
	distinct, same := map[string]bool{}, 0
	const n = 10_000
	for i := range uint64(n) {
		in := string(m.input(i))
		distinct[in] = true
		if in == string(other.input(i)) {
			same++
		}
	}
	t.Logf("%d distinct inputs of %d; %d the same for another target", len(distinct), n, same)
	require.Greater(t, len(distinct), n*7/10)
	require.Less(t, same, n/20)
}

func TestInputsKeepTheirBound(t *testing.T) {
	m := newMutator("T", testSeeds)
	shortest, longest := m.max, 0
	for i := range uint64(50_000) {
		n := len(m.input(i))
		shortest, longest = min(shortest, n), max(longest, n)
	}
	require.Zero(t, shortest)
	require.Equal(t, 40+extra, longest)
}

// Seeds belong to the caller, who may use them again.
func TestSeedsAreNotTouched(t *testing.T) {
	seeds := [][]byte{bytes.Repeat([]byte{7}, 100), bytes.Repeat([]byte{9}, 50)}
	m := newMutator("T", seeds)
	for i := range uint64(10_000) {
		m.input(i)
	}
	require.Equal(t, bytes.Repeat([]byte{7}, 100), seeds[0])
	require.Equal(t, bytes.Repeat([]byte{9}, 50), seeds[1])
}

// Every kind of mutation must be able to make what it is there for: each goal is
// reached from the seeds within the inputs of an ordinary run.
func TestMutationsReachTheirGoals(t *testing.T) {
	seedA, seedB := bytes.Repeat([]byte{0x11}, 40), bytes.Repeat([]byte{0x22}, 40)
	goals := map[string]func(in []byte) bool{
		"one bit flipped": func(in []byte) bool {
			return len(in) == 40 && bytes.Count(in, []byte{0x11}) == 39 && bytes.Contains(in, []byte{0x13})
		},
		"truncated": func(in []byte) bool { return len(in) == 17 && bytes.Equal(in, seedA[:17]) },
		"extended":  func(in []byte) bool { return len(in) > 40 && bytes.Equal(in[:40], seedA) },
		"repeated":  func(in []byte) bool { return bytes.Equal(in, bytes.Repeat([]byte{0x11}, 60)) },
		"spliced": func(in []byte) bool {
			return len(in) > 4 && in[0] == 0x11 && in[len(in)-1] == 0x22
		},
		"overwritten": func(in []byte) bool {
			return len(in) == 40 && in[0] == 0x11 && bytes.Count(in, []byte{0x22}) > 4 && in[39] == 0x11
		},
		"an all-ones 24-bit field": func(in []byte) bool {
			return len(in) == 40 && bytes.Contains(in, []byte{0x11, 0xff, 0xff, 0xff, 0x11})
		},
		"a 32-bit sign limit": func(in []byte) bool {
			return len(in) == 40 && slices.Contains(words(in), 0x80000000)
		},
		"a field one lower": func(in []byte) bool {
			return len(in) == 40 && slices.Contains(words(in), 0x11111110)
		},
	}
	m := newMutator("T", [][]byte{seedA, seedB})
	for i := range uint64(defaultExecutions) {
		in := m.input(i)
		for name, reached := range goals {
			if reached(in) {
				delete(goals, name)
			}
		}
	}
	for name := range goals {
		t.Errorf("no input: %s", name)
	}
}

// words returns the 32-bit big-endian fields at every offset.
func words(b []byte) []uint32 {
	var out []uint32
	for i := 0; i+4 <= len(b); i++ {
		out = append(out, binary.BigEndian.Uint32(b[i:]))
	}
	return out
}

func BenchmarkInput(b *testing.B) {
	m := newMutator("T", [][]byte{make([]byte, 1100)})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.input(uint64(i))
	}
}
