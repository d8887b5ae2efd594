package trace

import (
	"encoding/binary"
	"strings"
)

// Block types and options of pcapng (IETF draft-ietf-opsawg-pcapng, sections 4
// and 3.5). Numbers are little endian, which the section header declares.
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 6 // enhanced packet block
	blockStatistics = 5

	byteOrderMagic = 0x1a2b3c4d
	linkTypeRaw    = 101 // the packet begins with its IPv4 or IPv6 header

	optEnd     = 0
	optComment = 1

	optUserApplication = 4 // section

	optInterfaceName = 2
	optResolution    = 9 // power of ten of the time stamps, negated

	optFlags     = 2 // enhanced packet
	optDropCount = 4

	optReceived = 4 // interface statistics
	optDropped  = 5

	flagInbound  = 1
	flagOutbound = 2

	nanoseconds = 9
)

// maxOption keeps an option's value well below its 16-bit length.
const maxOption = 4096

// block is a pcapng block under construction.
type block []byte

// begin starts a block in the memory of b.
func (b block) begin(kind uint32) block {
	b = b[:0].u32(kind)
	return b.u32(0) // the length, known at the end
}

// end writes the block's length at both ends.
func (b block) end() block {
	n := uint32(len(b) + 4)
	binary.LittleEndian.PutUint32(b[4:], n)
	return b.u32(n)
}

func (b block) u16(v uint16) block { return binary.LittleEndian.AppendUint16(b, v) }
func (b block) u32(v uint32) block { return binary.LittleEndian.AppendUint32(b, v) }
func (b block) u64(v uint64) block { return binary.LittleEndian.AppendUint64(b, v) }

// time appends a time stamp, whose halves are stored high word first.
func (b block) time(t uint64) block { return b.u32(uint32(t >> 32)).u32(uint32(t)) }

// pad fills up to a multiple of four bytes.
func (b block) pad() block {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// text appends an option of UTF-8 text, cut if it is absurdly long.
func (b block) text(code uint16, s string) block {
	s = strings.ToValidUTF8(s[:min(len(s), maxOption)], "")
	b = b.u16(code).u16(uint16(len(s)))
	return append(b, s...).pad()
}

func (b block) option8(code uint16, v uint8) block {
	return append(b.u16(code).u16(1), v).pad()
}

func (b block) option32(code uint16, v uint32) block { return b.u16(code).u16(4).u32(v) }
func (b block) option64(code uint16, v uint64) block { return b.u16(code).u16(8).u64(v) }
func (b block) endOptions() block                    { return b.u16(optEnd).u16(0) }
