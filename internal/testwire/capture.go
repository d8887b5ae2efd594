package testwire

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/rocinante-rdma/roce/clock"
)

// capture writes the beginnings of Ethernet frames as a file of pcap's classic format,
// with times in nanoseconds (draft-ietf-opsawg-pcap). A nil capture writes nothing. It is
// safe for concurrent use; err is for when it is used no more.
type capture struct {
	mu  sync.Mutex
	w   io.Writer
	err error // of the first write that failed
}

// The format: a header for the file, one for each frame. snapLen is more than a CNP with
// all around it, and than the headers of any packet but a CM's.
const (
	pcapMagicNanos = 0xa1b23c4d
	linkEthernet   = 1
	snapLen        = 128
)

// newCapture begins a capture; it is nil without a writer.
func newCapture(w io.Writer) (*capture, error) {
	if w == nil {
		return nil, nil
	}
	h := binary.NativeEndian.AppendUint32(nil, pcapMagicNanos)
	h = binary.NativeEndian.AppendUint16(h, 2) // version 2.4
	h = binary.NativeEndian.AppendUint16(h, 4)
	h = append(h, make([]byte, 8)...) // the time zone, and how exact the times are: always 0
	h = binary.NativeEndian.AppendUint32(h, snapLen)
	h = binary.NativeEndian.AppendUint32(h, linkEthernet)
	if _, err := w.Write(h); err != nil {
		return nil, fmt.Errorf("testwire: begin a capture: %w", err)
	}
	return &capture{w: w}, nil
}

// write appends a frame.
func (c *capture) write(now clock.Time, frame []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	kept := frame[:min(len(frame), snapLen)]
	r := binary.NativeEndian.AppendUint32(nil, uint32(now/1e9))
	r = binary.NativeEndian.AppendUint32(r, uint32(now%1e9))
	r = binary.NativeEndian.AppendUint32(r, uint32(len(kept)))
	r = binary.NativeEndian.AppendUint32(r, uint32(len(frame)))
	_, c.err = c.w.Write(append(r, kept...))
}

// close returns the first error.
func (c *capture) close() error {
	if c == nil || c.err == nil {
		return nil
	}
	return fmt.Errorf("testwire: write a capture: %w", c.err)
}
