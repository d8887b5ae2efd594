package testwire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// Another reader finds the frames of a capture: their times, what is kept of them, and
// how long they were.
func TestCaptureIsRead(t *testing.T) {
	var file bytes.Buffer
	c, err := newCapture(&file)
	require.NoError(t, err)
	short, long := frameOf(paths[0], 1), append(frameOf(paths[1], 2), make([]byte, 1000)...)
	c.write(1_000_000_001, short)
	c.write(2_500_000_000, long)
	require.NoError(t, c.close())

	r, err := decode.NewReader("capture", &file)
	require.NoError(t, err)
	for _, want := range []struct {
		at    clock.Time
		bytes []byte
		whole int
	}{{1_000_000_001, short[:min(len(short), snapLen)], len(short)}, {2_500_000_000, long[:snapLen], len(long)}} {
		rec, err := r.Next()
		require.NoError(t, err)
		require.EqualValues(t, want.at, rec.Time.UnixNano())
		require.Equal(t, decode.LinkEthernet, rec.Link)
		require.Equal(t, want.bytes, rec.Data)
		require.Equal(t, want.whole, rec.Length)
	}
}

// failing is a writer that takes its first bytes only.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

// What cannot be written is told: at once for the file's header, else at the end.
func TestCaptureTellsOfErrors(t *testing.T) {
	_, err := newCapture(&failing{0})
	require.ErrorContains(t, err, "disk full")
	c, err := newCapture(&failing{1})
	require.NoError(t, err)
	c.write(0, frameOf(paths[0], 1))
	require.ErrorContains(t, c.close(), "disk full")
	none, err := newCapture(nil)
	require.NoError(t, err)
	none.write(0, nil)
	require.NoError(t, none.close())
}
