//go:build xdpdebug

package xdp

import "fmt"

// ledger knows who has each chunk, and panics when one moves as it must not.
type ledger struct{ owners []owner }

func (l *ledger) init(chunks int) { l.owners = make([]owner, chunks) }

// move gives a chunk from one owner to another.
func (l *ledger) move(addr uint64, from, to owner) {
	chunk := addr / chunkSize
	if is := l.owners[chunk]; is != from {
		panic(fmt.Sprintf("xdp: chunk %d goes from %v to %v, but %v has it", chunk, from, to, is))
	}
	l.owners[chunk] = to
}
