// Package agentproto is what the harness and the agent in the guest say to
// each other.
//
// The agent makes all connections, from the guest to a listener of the
// harness, so that no port need be chosen in advance. Each connection starts
// with one Hello as a line of JSON. The first connection is the control
// connection: on it the harness asks for further ones, one OpenRequest a line;
// the agent answers each by a connection of its own whose Hello bears the same
// ID. On that connection the harness sends one Request line, and then it is
// the request's alone:
//
//   - OpRun: the agent sends Frames, the last of which is FrameExit. The
//     harness may send single bytes, each the number of a signal for the
//     script's process group; when the harness closes, the group is killed.
//   - OpDial: the agent sends a Reply line; after a good one the connection
//     carries the dialled connection's bytes, each direction closed apart.
//   - OpListening: the agent sends a Reply line when the port is listened on.
//   - OpPut: Request.Size bytes follow; the agent writes the file and sends a
//     Reply line.
package agentproto

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Hello is the first line of every connection.
type Hello struct {
	Token string `json:"token"`        // the secret from the kernel's command line
	ID    uint64 `json:"id,omitempty"` // of the OpenRequest; 0 on the control connection
}

// OpenRequest asks the agent for one more connection.
type OpenRequest struct {
	ID uint64 `json:"id"` // counts from 1
}

// The operations of a Request.
const (
	OpRun       = "run"
	OpDial      = "dial"
	OpListening = "listening"
	OpPut       = "put"
)

// Request tells what a connection is for.
type Request struct {
	Op     string `json:"op"`
	Script string `json:"script,omitempty"`  // OpRun: for /bin/sh
	Port   uint16 `json:"port,omitempty"`    // OpDial, OpListening: a TCP port of the guest
	WaitMS int64  `json:"wait_ms,omitempty"` // OpDial, OpListening: how long to wait for a listener
	Path   string `json:"path,omitempty"`    // OpPut
	Mode   uint32 `json:"mode,omitempty"`    // OpPut: permissions
	Size   int64  `json:"size,omitempty"`    // OpPut: bytes that follow
}

// Reply is the agent's answer to all but OpRun.
type Reply struct {
	Error string `json:"error,omitempty"` // empty: done
}

// Exit is the payload of a FrameExit, as JSON.
type Exit struct {
	Code   int    `json:"code"`             // exit status, or -1
	Signal int    `json:"signal,omitempty"` // that ended the script's shell, or 0
	Error  string `json:"error,omitempty"`  // why the script could not be run
}

// FrameKind tells what a frame carries.
type FrameKind byte

// The kinds of frames.
const (
	FrameStdout FrameKind = 'o'
	FrameStderr FrameKind = 'e'
	FrameExit   FrameKind = 'x'
)

// MaxFrame bounds a frame's payload, in bytes.
const MaxFrame = 64 << 10

// WriteFrame writes the kind, the length in four bytes (big-endian) and the
// payload, in one call of Write.
func WriteFrame(w io.Writer, kind FrameKind, p []byte) error {
	b := make([]byte, 5, 5+len(p))
	b[0] = byte(kind)
	binary.BigEndian.PutUint32(b[1:], uint32(len(p)))
	_, err := w.Write(append(b, p...))
	return err
}

// ReadFrame reads what WriteFrame wrote.
func ReadFrame(r io.Reader) (FrameKind, []byte, error) {
	var h [5]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(h[1:])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("agentproto: frame of %d bytes exceeds %d", n, MaxFrame)
	}
	p := make([]byte, n)
	_, err := io.ReadFull(r, p)
	return FrameKind(h[0]), p, err
}
