package decode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// pcap reads the classic format (draft-ietf-opsawg-pcap): a 24-byte file header,
// then a 16-byte header before each frame.
type pcap struct {
	r     *bufio.Reader
	order binary.ByteOrder
	link  LinkType
	tick  time.Duration // unit of the sub-second half of timestamps
}

const (
	pcapFileHeader   = 24
	pcapRecordHeader = 16
	pcapVersion      = 2      // major; the minor has been 4 for all of its life
	linkTypeMask     = 0xffff // above lie the frame check sequence's length and flags
)

func newPcap(r *bufio.Reader, order binary.ByteOrder) (format, error) {
	var h [pcapFileHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, fmt.Errorf("reading the pcap file header: %w", truncated(err))
	}
	if v := order.Uint16(h[4:]); v != pcapVersion {
		return nil, fmt.Errorf("pcap of version %d, only version %d is known", v, pcapVersion)
	}
	p := &pcap{r: r, order: order, link: LinkType(order.Uint32(h[20:]) & linkTypeMask), tick: time.Microsecond}
	if order.Uint32(h[:]) == magicNano {
		p.tick = time.Nanosecond
	}
	return p, nil
}

func (p *pcap) next() (Record, error) {
	var h [pcapRecordHeader]byte
	if _, err := io.ReadFull(p.r, h[:]); errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	} else if err != nil {
		return Record{}, truncated(err)
	}
	captured := p.order.Uint32(h[8:])
	if captured > MaxRecord {
		return Record{}, fmt.Errorf("it claims %d captured bytes, the limit is %d; the file is damaged here", captured, MaxRecord)
	}
	data := make([]byte, captured)
	if _, err := io.ReadFull(p.r, data); err != nil {
		return Record{}, truncated(err)
	}
	return Record{
		Time:   time.Unix(int64(p.order.Uint32(h[:])), int64(p.order.Uint32(h[4:]))*int64(p.tick)).UTC(),
		Link:   p.link,
		Data:   data,
		Length: int(p.order.Uint32(h[12:])),
	}, nil
}

// truncated names an end of file where more had to come.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}
