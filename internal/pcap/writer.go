// Package pcap writes captures of Ethernet frames for tests, in pcap's classic format with
// times in nanoseconds (draft-ietf-opsawg-pcap). What the stack sends and receives has
// package trace, whose captures say more.
package pcap

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

const (
	magicNanos   = 0xa1b23c4d
	linkEthernet = 1
)

// Writer writes one capture. Its methods are safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	w       io.Writer
	snapLen int
	record  []byte // scratch
	err     error  // the first one: nothing is written behind it
	closed  bool
}

// NewWriter begins a capture that keeps so many bytes of each frame. It writes the file's
// header at once, and each frame in one piece.
func NewWriter(w io.Writer, snapLen int) (*Writer, error) {
	h := binary.LittleEndian.AppendUint32(nil, magicNanos)
	h = binary.LittleEndian.AppendUint16(h, 2) // version 2.4
	h = binary.LittleEndian.AppendUint16(h, 4)
	h = append(h, make([]byte, 8)...) // the time zone, and how exact the times are: always 0
	h = binary.LittleEndian.AppendUint32(h, uint32(snapLen))
	h = binary.LittleEndian.AppendUint32(h, linkEthernet)
	_, err := w.Write(h)
	return &Writer{w: w, snapLen: snapLen}, err
}

// Frame appends a frame. Behind Close it does nothing.
func (p *Writer) Frame(at time.Time, frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.err != nil {
		return
	}
	kept := frame[:min(len(frame), p.snapLen)]
	r := binary.LittleEndian.AppendUint32(p.record[:0], uint32(at.Unix()))
	r = binary.LittleEndian.AppendUint32(r, uint32(at.Nanosecond()))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(kept)))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(frame)))
	p.record = append(r, kept...)
	_, p.err = p.w.Write(p.record)
}

// Close ends the capture, and returns the first error of writing it. What it wrote to stays
// open.
func (p *Writer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.err
}
