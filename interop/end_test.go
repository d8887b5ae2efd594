//go:build linux

package interop

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce"
)

// end is one end of a connection, as the cells see it: ours or the kernel's. Every
// cell is written once, for a requester and a responder, and runs both ways.
//
// An end has one region of memorySize bytes with all rights, and one completion
// queue. All methods fail the test when the end refuses.
type end interface {
	String() string

	// fill writes guest.Pattern(seed, n) to its memory.
	fill(t *testing.T, off, n int, seed uint64)
	// sum is the hash of n bytes of its memory.
	sum(t *testing.T, off, n int) [sha256.Size]byte
	// remote names its memory for the other end, from an offset on.
	remote(off int) target
	// limited registers 4,096 bytes with only the given rights, until the test ends.
	limited(t *testing.T, access roce.Access) target

	post(t *testing.T, w work)
	postRecv(t *testing.T, id uint64, off, n int)
	// completions waits for n of them.
	completions(t *testing.T, n int) []completion
	state(t *testing.T) roce.QPState
	// window makes a memory window, which lasts until the test ends.
	window(t *testing.T) window
	// drain moves the queue pair to SQD; drained waits for the event; resume moves it
	// back to RTS.
	drain(t *testing.T)
	drained(t *testing.T)
	resume(t *testing.T)
	// destroy destroys its queue pair; again, it does nothing.
	destroy(t *testing.T)
}

// window is a memory window of an end.
type window interface {
	// bind posts the binding to n bytes of the end's memory from an offset on, for the
	// peer of the end's queue pair, and says how that names them.
	bind(t *testing.T, id uint64, off, n int, access roce.Access) target
}

// target is memory as a peer names it.
type target struct {
	addr uint64
	key  uint32
}

// work is a signaled work request.
type work struct {
	id      uint64
	op      roce.Op
	off, n  int    // the piece of the requester's own memory
	at      target // of OpSendInv and OpLocalInv: the key that is invalidated
	fence   bool
	imm     uint32
	add     uint64
	compare uint64
	swap    uint64
}

// completion is what both ends' completions tell. Of a failed one only id and status
// mean something.
type completion struct {
	id     uint64
	status roce.Status
	opcode roce.WCOpcode
	bytes  int // of receives and READs
	imm    uint32
	hasImm bool
	inv    uint32 // the key that the peer invalidated
	hasInv bool
}

// The two areas of an end's memory: what messages are taken from, and where they
// arrive, with a guard on either side. Both begin at odd addresses.
const (
	maxMessage = 65537
	guard      = 64
	sourceOff  = 1
	inboxOff   = 80<<10 + 1 // of the first guard
	inboxSize  = guard + maxMessage + guard
	arrivalOff = inboxOff + guard
	// wordOff is where the word for atomics is, between guards.
	wordOff    = 160 << 10
	memorySize = 164 << 10
)

// background is the seed of what an inbox holds before a message.
const background = 0xbac

// stepTimeout bounds every single wait. It only keeps a hanging cell from hanging the
// suite.
const stepTimeout = 30 * time.Second

// bounded is a context for one step of a test or of its cleanup.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stepTimeout)
	t.Cleanup(cancel)
	return ctx
}

// nativeWord and nativeBytes convert the words of atomics from and to memory. Both
// ends have the byte order of this machine.
func nativeWord(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

func nativeBytes(w uint64) []byte { return binary.NativeEndian.AppendUint64(nil, w) }
