package mr

// permutation is a keyed bijection of the 24-bit numbers: a Feistel network over
// two halves of 12 bits. It hides in which order slots were used.
type permutation [permutationRounds]uint64

const (
	permutationRounds = 4
	halfBits          = indexBits / 2
	halfMask          = 1<<halfBits - 1
)

func newPermutation(rand func() uint64) (p permutation) {
	for i := range p {
		p[i] = rand()
	}
	return p
}

func (p *permutation) forward(x uint32) uint32 {
	l, r := x>>halfBits, x&halfMask
	for _, k := range p {
		l, r = r, l^mix(r, k)
	}
	return l<<halfBits | r
}

func (p *permutation) backward(x uint32) uint32 {
	l, r := x>>halfBits, x&halfMask
	for i := len(p) - 1; i >= 0; i-- {
		l, r = r^mix(l, p[i]), l
	}
	return l<<halfBits | r
}

// mix is the round function: the odd multipliers spread every bit of half and key
// over the bits that are kept.
func mix(half uint32, key uint64) uint32 {
	x := (uint64(half)*0x9e3779b97f4a7c15 ^ key) * 0xd6e8feb86659fd93
	return uint32(x^x>>29) >> (32 - halfBits)
}
