//go:build xdpdebug

package xdp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A chunk that is not where the move begins: released twice, say.
func TestIllegalMovePanics(t *testing.T) {
	var l ledger
	l.init(4)
	l.move(2*chunkSize, free, inFill)
	l.move(2*chunkSize, inFill, inRx)
	require.PanicsWithValue(t, "xdp: chunk 2 goes from engine to fill, but rx has it",
		func() { l.move(2*chunkSize, atEngine, inFill) })
}
