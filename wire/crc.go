package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// The CRC of IEEE 802.3 in its reflected form: bit 31 of the register is the
// coefficient of x^0, and the byte that enters first stands in the low bits.
//
// Registers are kept as hash/crc32 returns them, complemented. Because the CRC is
// linear, what a single byte contributes to the register can be XORed in later,
// advanced by the number of bytes that followed it; and because each step can be
// undone, a difference at the end can be led back to the bytes that caused it.
const (
	polynomial = crc32.IEEE
	// afterOnes is the CRC of the eight bytes of ones that stand for the LRH of
	// InfiniBand (IBTA annex A17).
	afterOnes = 0x2144df1c
	// residue is the CRC of any message followed by its own CRC, low byte first.
	residue = 0x2144df1c
)

// byteTable holds the contribution of every value of a byte that n bytes follow.
type byteTable [256]uint32

// following holds the tables for n from 0 to 3: together they take in a word.
var following = [4]byteTable{distanceTable(0), distanceTable(1), distanceTable(2), distanceTable(3)}

func distanceTable(n int) (t byteTable) {
	for b := range t {
		c := crc32.IEEETable[b]
		for range n {
			c = crc32.IEEETable[c&0xff] ^ c>>8
		}
		t[b] = c
	}
	return t
}

// crcWord takes in four bytes, read as a little-endian word.
func crcWord(c, w uint32) uint32 {
	r := ^c ^ w
	return ^(following[3][r&0xff] ^ following[2][r>>8&0xff] ^ following[1][r>>16&0xff] ^ following[0][r>>24])
}

// crcShort takes in a header. Unlike crc32.Update it does not let b escape, and it
// is faster on the lengths that headers have.
func crcShort(c uint32, b []byte) uint32 {
	for len(b) >= 4 {
		c, b = crcWord(c, binary.LittleEndian.Uint32(b)), b[4:]
	}
	for _, x := range b {
		c = ^(crc32.IEEETable[byte(^c)^x] ^ ^c>>8)
	}
	return c
}

// crcLong takes in a payload.
func crcLong(c uint32, b []byte) uint32 { return crc32.Update(c, crc32.IEEETable, b) }

// backLow and backHigh hold x^(-8n) for n in steps of 1 and of 256 bytes.
var backLow, backHigh = backTables()

func backTables() (low, high byteTable) {
	const one = 1 << 31
	low[0], high[0] = one, one
	for n := 1; n < 256; n++ {
		low[n] = stepBack(low[n-1])
	}
	stride := stepBack(low[255])
	for n := 1; n < 256; n++ {
		high[n] = multiply(high[n-1], stride)
	}
	return low, high
}

// stepBack undoes the step of one zero byte.
func stepBack(r uint32) uint32 {
	for range 8 {
		carry := r >> 31
		r = (r^polynomial&-carry)<<1 | carry
	}
	return r
}

// multiply multiplies two polynomials modulo the CRC's.
func multiply(a, b uint32) (product uint32) {
	for range 32 {
		product ^= b & -(a >> 31)
		a <<= 1
		b = b>>1 ^ polynomial&-(b&1)
	}
	return product
}

// rewind leads a difference between two registers back over n bytes, n < 65536.
func rewind(difference uint32, n int) uint32 {
	difference = multiply(difference, backLow[n&0xff])
	if n > 0xff {
		difference = multiply(difference, backHigh[n>>8&0xff])
	}
	return difference
}
