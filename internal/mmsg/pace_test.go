package mmsg

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A call asks for one message while they come singly, and for twice as many each time
// all came, until one call would move too many bytes.
func TestPace(t *testing.T) {
	const most = 64
	for _, c := range []struct{ limit, size, largest int }{
		{0, 16, most}, {0, 1044, 32}, {0, 4140, 8}, {0, 60_000, 1},
		{4 * 65535, 4140, 32}, {4 * 65535, 60_000, 4}, {4 * 65535, 65_535, 4},
	} {
		p := Pace{Bytes: c.limit}
		require.Equal(t, 1, p.Next())
		for range 10 {
			p.Note(p.Next(), p.Next(), p.Next()*c.size, most)
		}
		require.Equal(t, c.largest, p.Next(), "%+v", c)
		p.Note(p.Next(), p.Next()/2, p.Next()/2*c.size, most)
		require.Equal(t, max(c.largest/2, 1), p.Next(), "fewer came")
		p.Note(p.Next(), 0, 0, most)
		require.Equal(t, 1, p.Next(), "none came")
	}
	p := Pace{next: 64}
	p.Note(64, 64, 64*4140, most)
	require.Equal(t, 32, p.Next(), "messages grew")
	p.Note(1, 1, 4140, most)
	require.Equal(t, 32, p.Next(), "the caller had no room for more")
}
