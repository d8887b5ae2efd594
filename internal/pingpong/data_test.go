package pingpong

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An echo of the round before, in whole or in part, must not pass for one of this.
func TestRoundsDifferInEveryByte(t *testing.T) {
	const size = 2*pageSize + 1
	a, b := make([]byte, size), make([]byte, size)
	for round := range 300 {
		fillRound(a, round, false)
		fillRound(b, round+1, false)
		for i := range a {
			require.NotEqual(t, a[i], b[i], "byte %d of rounds %d and %d", i, round, round+1)
		}
	}
}

func TestEchoCheckFindsOneByte(t *testing.T) {
	sent, back := make([]byte, 1000), make([]byte, 1000)
	fillRound(sent, 7, false)
	fillRound(back, 7, false)
	require.NoError(t, checkEcho(sent, back, 7))
	back[999] ^= 1
	require.ErrorContains(t, checkEcho(sent, back, 7), "message 7 came back changed: byte 999")
}

// The server's check takes what either client sends last with -c, and finds out a
// client without.
func TestServersCheck(t *testing.T) {
	for _, size := range []int{0, 1, pageSize, pageSize + 1, 3 * pageSize} {
		b := make([]byte, size)
		fillRound(b, 99, true)
		require.NoError(t, checkPages(b), "size %d", size)
		if size == 0 {
			continue
		}
		b[(size-1)/pageSize*pageSize] = 1
		require.Error(t, checkPages(b), "size %d", size)
		fillPlain(b)
		require.ErrorContains(t, checkPages(b), "invalid data in page 0", "size %d", size)
	}
}
