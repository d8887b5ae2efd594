package decode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"
)

// pcapng reads the block format (draft-ietf-opsawg-pcapng). It keeps the comments of
// packets, because they are what explains a capture. Blocks that it does not know are
// skipped.
type pcapng struct {
	r      *bufio.Reader
	order  binary.ByteOrder
	ifaces []iface // of the current section
}

// iface is what packets need to know of the interface they came from.
type iface struct {
	link    LinkType
	snapLen uint32
	res     resolution
	offset  int64 // seconds to add to timestamps
}

// Block types.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockSimple    = 3
	blockEnhanced  = 6
)

const (
	byteOrderMagic = 0x1a2b3c4d
	blockHead      = 8       // type and total length
	blockOverhead  = 12      // head and the repeated total length
	maxBlock       = 1 << 20 // of the blocks that are kept
	maxIfaces      = 1 << 16
)

// Options.
const (
	optEnd     = 0
	optComment = 1
	optTsResol = 9
	optTsOff   = 14
)

func newPcapng(r *bufio.Reader) (format, error) {
	p := &pcapng{r: r, order: binary.LittleEndian}
	kind, _, err := p.block()
	if err != nil {
		return nil, fmt.Errorf("reading the pcapng section header: %w", err)
	}
	if kind != blockSection {
		return nil, fmt.Errorf("pcapng does not begin with a section header but block type %d", kind)
	}
	return p, nil
}

func (p *pcapng) next() (Record, error) {
	for {
		kind, body, err := p.block()
		if err != nil {
			return Record{}, err
		}
		switch kind {
		case blockInterface:
			err = p.addInterface(body)
		case blockEnhanced:
			return p.enhanced(body)
		case blockSimple:
			return p.simple(body)
		}
		if err != nil {
			return Record{}, err
		}
	}
}

// block reads the next block. The body of a block that nobody reads is nil.
func (p *pcapng) block() (kind uint32, body []byte, err error) {
	head, err := p.r.Peek(blockHead + 4)
	if len(head) == 0 {
		return 0, nil, err
	}
	if len(head) < blockHead+4 {
		return 0, nil, errTruncated
	}
	if binary.BigEndian.Uint32(head) == blockSection {
		if err := p.beginSection(head[blockHead:]); err != nil {
			return 0, nil, err
		}
	}
	kind = p.order.Uint32(head)
	length := p.order.Uint32(head[4:])
	if length < blockOverhead || length%4 != 0 {
		return 0, nil, fmt.Errorf("pcapng block of type %d has the impossible length %d; the file is damaged here", kind, length)
	}
	if !kept(kind) {
		return kind, nil, p.skip(int64(length))
	}
	if length > maxBlock {
		return 0, nil, fmt.Errorf("pcapng block of type %d is %d bytes long, the limit is %d", kind, length, maxBlock)
	}
	whole := make([]byte, length)
	if _, err := io.ReadFull(p.r, whole); err != nil {
		return 0, nil, truncated(err)
	}
	return kind, whole[blockHead : length-4], nil
}

func kept(kind uint32) bool {
	return kind == blockInterface || kind == blockEnhanced || kind == blockSimple
}

// beginSection learns the byte order; interfaces are numbered anew.
func (p *pcapng) beginSection(magic []byte) error {
	switch {
	case binary.LittleEndian.Uint32(magic) == byteOrderMagic:
		p.order = binary.LittleEndian
	case binary.BigEndian.Uint32(magic) == byteOrderMagic:
		p.order = binary.BigEndian
	default:
		return fmt.Errorf("pcapng section has no byte-order magic but % x; the file is damaged here", magic)
	}
	p.ifaces = nil
	return nil
}

func (p *pcapng) skip(n int64) error {
	_, err := io.CopyN(io.Discard, p.r, n)
	return truncated(err)
}

func (p *pcapng) addInterface(b []byte) error {
	if len(b) < 8 || len(p.ifaces) == maxIfaces {
		return errors.New("pcapng interface description is too short, or one too many")
	}
	i := iface{LinkType(p.order.Uint16(b)), p.order.Uint32(b[4:]), microseconds, 0}
	p.options(b[8:], func(code uint16, value []byte) {
		switch {
		case code == optTsResol && len(value) == 1:
			i.res = parseResolution(value[0])
		case code == optTsOff && len(value) == 8:
			i.offset = int64(p.order.Uint64(value))
		}
	})
	p.ifaces = append(p.ifaces, i)
	return nil
}

func (p *pcapng) enhanced(b []byte) (Record, error) {
	if len(b) < 20 {
		return Record{}, errors.New("pcapng packet block is too short; the file is damaged here")
	}
	id, captured := p.order.Uint32(b), p.order.Uint32(b[12:])
	if int64(id) >= int64(len(p.ifaces)) {
		return Record{}, fmt.Errorf("pcapng packet names interface %d, the section describes %d", id, len(p.ifaces))
	}
	if int64(captured) > int64(len(b)-20) {
		return Record{}, fmt.Errorf("pcapng packet claims %d bytes, its block holds %d", captured, len(b)-20)
	}
	i := p.ifaces[id]
	ticks := uint64(p.order.Uint32(b[4:]))<<32 | uint64(p.order.Uint32(b[8:]))
	rec := Record{
		Time:   i.res.time(ticks, i.offset),
		Point:  int(id),
		Link:   i.link,
		Data:   b[20 : 20+captured],
		Length: int(p.order.Uint32(b[16:])),
	}
	padded := (20 + int(captured) + 3) &^ 3
	rec.Comment = p.comments(b[min(padded, len(b)):])
	return rec, nil
}

// simple reads a block without time and interface: the first one is meant.
func (p *pcapng) simple(b []byte) (Record, error) {
	if len(b) < 4 || len(p.ifaces) == 0 {
		return Record{}, errors.New("pcapng simple packet is too short, or the section describes no interface")
	}
	i, length := p.ifaces[0], p.order.Uint32(b)
	data := b[4:]
	if int64(length) < int64(len(data)) {
		data = data[:length]
	}
	if i.snapLen != 0 && int64(i.snapLen) < int64(len(data)) {
		data = data[:i.snapLen]
	}
	return Record{Link: i.link, Data: data, Length: int(length)}, nil
}

func (p *pcapng) comments(b []byte) string {
	var all []string
	p.options(b, func(code uint16, value []byte) {
		if code == optComment {
			all = append(all, strings.ToValidUTF8(string(value), "�"))
		}
	})
	return strings.Join(all, "\n")
}

// options calls f for each option. A list that is cut off simply ends: what it
// would have said is a nicety.
func (p *pcapng) options(b []byte, f func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := p.order.Uint16(b), int(p.order.Uint16(b[2:]))
		b = b[4:]
		if code == optEnd || n > len(b) {
			return
		}
		f(code, b[:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}

// resolution is the number of timestamp ticks in a second.
type resolution uint64

const microseconds resolution = 1e6

// parseResolution reads if_tsresol: a negative power of 10, or of 2 if the top bit
// is set. What no clock has counts as microseconds.
func parseResolution(b byte) resolution {
	exp := b & 0x7f
	if b&0x80 != 0 {
		if exp > 63 {
			return microseconds
		}
		return 1 << exp
	}
	if exp > 19 {
		return microseconds
	}
	r := resolution(1)
	for range exp {
		r *= 10
	}
	return r
}

func (r resolution) time(ticks uint64, offset int64) time.Time {
	sec, frac := ticks/uint64(r), ticks%uint64(r)
	hi, lo := bits.Mul64(frac, 1e9)
	ns, _ := bits.Div64(hi, lo, uint64(r))
	return time.Unix(int64(sec)+offset, int64(ns)).UTC()
}
