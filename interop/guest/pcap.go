//go:build linux

package guest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// pcapWriter writes the classic capture format with times in nanoseconds.
type pcapWriter struct {
	mu   sync.Mutex
	c    io.Closer
	b    *bufio.Writer
	err  error // the first one
	done bool
}

// newPcapWriter writes the file header: magic of the nanosecond kind, version
// 2.4, snap length, link type Ethernet. It owns w.
func newPcapWriter(w io.WriteCloser) (*pcapWriter, error) {
	p := &pcapWriter{c: w, b: bufio.NewWriter(w)}
	h := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)
	h = binary.LittleEndian.AppendUint16(h, 2)
	h = binary.LittleEndian.AppendUint16(h, 4)
	h = append(h, make([]byte, 8)...)
	h = binary.LittleEndian.AppendUint32(h, 1<<18)
	h = binary.LittleEndian.AppendUint32(h, 1)
	_, err := p.b.Write(h)
	return p, err
}

// frame appends one frame with the present time.
func (p *pcapWriter) frame(f []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || p.err != nil {
		return
	}
	t := time.Now()
	h := binary.LittleEndian.AppendUint32(make([]byte, 0, 16), uint32(t.Unix()))
	h = binary.LittleEndian.AppendUint32(h, uint32(t.Nanosecond()))
	h = binary.LittleEndian.AppendUint32(h, uint32(len(f)))
	h = binary.LittleEndian.AppendUint32(h, uint32(len(f)))
	_, err := p.b.Write(h)
	_, err2 := p.b.Write(f)
	p.err = errors.Join(err, err2)
}

// close flushes and closes the file; the first call counts.
func (p *pcapWriter) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.done = true
		p.err = errors.Join(p.err, p.b.Flush(), p.c.Close())
	}
	return p.err
}
