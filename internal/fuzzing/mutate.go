package fuzzing

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
)

// extra is how many bytes an input may be longer than the longest seed: enough for
// a header more than the format has.
const extra = 64

// mutator makes the inputs of one target.
type mutator struct {
	seeds [][]byte
	max   int // the longest input, in bytes

	stream uint64 // the target's name, so that targets differ in their inputs
	pcg    rand.PCG
	rnd    *rand.Rand
	buf    []byte
}

func newMutator(name string, seeds [][]byte) *mutator {
	if len(seeds) == 0 {
		seeds = [][]byte{{}}
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	m := &mutator{seeds: seeds, stream: h.Sum64()}
	for _, s := range seeds {
		m.max = max(m.max, len(s)+extra)
	}
	m.rnd = rand.New(&m.pcg)
	return m
}

// input returns input number n; it is valid until the next call. Neighbouring
// numbers have nothing in common: the generator's output hashes its whole state.
func (m *mutator) input(n uint64) []byte {
	m.pcg.Seed(m.stream, n)
	m.buf = append(m.buf[:0], m.pick()...)
	// A single wrong field reaches deepest, and there are not many single changes:
	// a quarter of the inputs has one, the others more and more.
	for {
		mutations[m.rnd.IntN(len(mutations))](m)
		if m.rnd.IntN(4) == 0 {
			return m.buf
		}
	}
}

// pick chooses a seed.
func (m *mutator) pick() []byte { return m.seeds[m.rnd.IntN(len(m.seeds))] }

// at chooses an offset for a field of size bytes; ok is false if the input is too
// short for one. The first bytes, where headers lie, are chosen as often as all
// the others.
func (m *mutator) at(size int) (off int, ok bool) {
	room := len(m.buf) - size + 1
	if room <= 0 {
		return 0, false
	}
	if m.rnd.IntN(2) == 0 {
		room = min(room, headers)
	}
	return m.rnd.IntN(room), true
}

// headers is how many bytes at() prefers: the headers of all layers of a packet.
const headers = 64

// mutations change m.buf in place and may resize it up to m.max.
var mutations = []func(m *mutator){
	flipBit, setByte, setInteger, addToInteger, truncate, extend, remove, repeat, splice, overwrite,
}

func flipBit(m *mutator) {
	if i, ok := m.at(1); ok {
		m.buf[i] ^= 1 << m.rnd.IntN(8)
	}
}

func setByte(m *mutator) {
	if i, ok := m.at(1); ok {
		m.buf[i] = byte(m.rnd.Uint32())
	}
}

// interesting are the numbers around which fields break: zero, sign and width
// limits of 8 to 64 bits, the ends of the 24-bit PSN and QPN spaces, path MTUs.
var interesting = []uint64{
	0, 1, 2, 3, 4, 7, 8,
	0x7f, 0x80, 0xff, 256, 512, 1024, 2048, 4096,
	0x7fff, 0x8000, 0xffff, 0x10000,
	0x7fffff, 0x800000, 0xfffffe, 0xffffff,
	1<<30 - 1, 1 << 30, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
	1<<63 - 1, 1 << 63, 1<<64 - 1,
}

// setInteger writes an interesting number, or one next to it, as a big-endian
// field of 1 to 8 bytes.
func setInteger(m *mutator) {
	v := interesting[m.rnd.IntN(len(interesting))] + uint64(m.rnd.IntN(3)) - 1
	m.putField(1+m.rnd.IntN(8), func(uint64) uint64 { return v })
}

// addToInteger moves a big-endian field of 1 to 8 bytes a little up or down.
func addToInteger(m *mutator) {
	delta := uint64(m.rnd.IntN(65)) - 32
	m.putField(1+m.rnd.IntN(8), func(v uint64) uint64 { return v + delta })
}

// putField replaces a big-endian field of size bytes somewhere in the input.
func (m *mutator) putField(size int, change func(uint64) uint64) {
	off, ok := m.at(size)
	if !ok {
		return
	}
	var wide [8]byte
	field := m.buf[off : off+size]
	copy(wide[8-size:], field)
	binary.BigEndian.PutUint64(wide[:], change(binary.BigEndian.Uint64(wide[:])))
	copy(field, wide[8-size:])
}

func truncate(m *mutator) { m.buf = m.buf[:m.rnd.IntN(len(m.buf)+1)] }

// extend adds random bytes at the end.
func extend(m *mutator) {
	for n := m.rnd.IntN(extra + 1); n > 0 && len(m.buf) < m.max; n-- {
		m.buf = append(m.buf, byte(m.rnd.Uint32()))
	}
}

// remove cuts a piece out of the input.
func remove(m *mutator) {
	from := m.rnd.IntN(len(m.buf) + 1)
	to := from + m.rnd.IntN(len(m.buf)-from+1)
	m.buf = append(m.buf[:from], m.buf[to:]...)
}

// repeat appends a copy of a piece of the input.
func repeat(m *mutator) {
	from := m.rnd.IntN(len(m.buf) + 1)
	to := from + m.rnd.IntN(len(m.buf)-from+1)
	m.append(m.buf[from:to])
}

// splice keeps the input's beginning and goes on with the end of another seed.
func splice(m *mutator) {
	truncate(m)
	other := m.pick()
	m.append(other[m.rnd.IntN(len(other)+1):])
}

// overwrite lays a piece of another seed over the input at the same offset, where
// it is likely to be the same header of another packet.
func overwrite(m *mutator) {
	other := m.pick()
	if n := min(len(other), len(m.buf)); n > 0 {
		from := m.rnd.IntN(n)
		copy(m.buf[from:n], other[from:from+1+m.rnd.IntN(n-from)])
	}
}

func (m *mutator) append(b []byte) {
	m.buf = append(m.buf, b[:min(len(b), m.max-len(m.buf))]...)
}
