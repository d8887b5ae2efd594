package decode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Record is one captured frame.
type Record struct {
	Number  int       // place in the file, from 1, as Wireshark counts
	Time    time.Time // when it was captured; zero if the file does not say
	Point   int       // capture point: number of the interface in a pcapng section, else 0
	Link    LinkType
	Data    []byte // captured bytes
	Length  int    // length on the wire; more than len(Data) if the capture cut it
	Comment string // comments that the file carries for it, joined by line breaks
}

// MaxRecord bounds the captured length of one frame, as capture tools do.
const MaxRecord = 256 << 10

// format is one kind of capture file. next returns io.EOF at a clean end.
type format interface {
	next() (Record, error)
}

// Reader yields the records of a capture file in order.
type Reader struct {
	name   string
	file   io.Closer
	format format
	read   int // records so far
}

// Open opens a capture file; the caller closes the Reader.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening the capture: %w", err)
	}
	r, err := NewReader(name, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads a capture from r; name stands for it in errors.
func NewReader(name string, r io.Reader) (*Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	f, err := sniff(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Reader{name: name, format: f}, nil
}

// Next returns the next record, io.EOF at the end, or an error that names the file
// and the record.
func (r *Reader) Next() (Record, error) {
	rec, err := r.format.next()
	if errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s: record %d: %w (%d records before it were read)",
			r.name, r.read+1, err, r.read)
	}
	r.read++
	rec.Number = r.read
	return rec, nil
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// First bytes of capture files.
const (
	magicPcapng = 0x0a0d0d0a // reads the same in both byte orders
	magicMicro  = 0xa1b2c3d4
	magicNano   = 0xa1b23c4d
	magicGzip   = 0x1f8b // upper half
)

var (
	errEmpty     = errors.New("the file is empty")
	errTruncated = errors.New("the file ends in the middle of it; copy or record the capture again")
)

// sniff chooses the format by the file's first four bytes.
func sniff(b *bufio.Reader) (format, error) {
	head, err := b.Peek(4)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return nil, errEmpty
	}
	if len(head) < 4 && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) < 4 {
		return nil, errNoCapture(head)
	}
	big, little := binary.BigEndian.Uint32(head), binary.LittleEndian.Uint32(head)
	switch {
	case big == magicPcapng:
		return newPcapng(b)
	case big == magicMicro, big == magicNano:
		return newPcap(b, binary.BigEndian)
	case little == magicMicro, little == magicNano:
		return newPcap(b, binary.LittleEndian)
	case big>>16 == magicGzip:
		return nil, errors.New("the capture is compressed; unpack it with gunzip first")
	}
	return nil, errNoCapture(head)
}

func errNoCapture(head []byte) error {
	return fmt.Errorf("neither pcap nor pcapng (it begins with % x); "+
		"give a file written by tcpdump -w, Wireshark or roci", head)
}
