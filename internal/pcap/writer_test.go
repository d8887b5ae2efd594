package pcap_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/pcap"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// Another reader finds the frames of a capture: their times, what is kept of them, and
// how long they were.
func TestCaptureIsRead(t *testing.T) {
	const snapLen = 128
	var file bytes.Buffer
	p, err := pcap.NewWriter(&file, snapLen)
	require.NoError(t, err)
	short, long := bytes.Repeat([]byte{1}, 60), bytes.Repeat([]byte{2}, 1000)
	p.Frame(time.Unix(1, 1), short)
	p.Frame(time.Unix(2, 500_000_000), long)
	require.NoError(t, p.Close())
	p.Frame(time.Unix(3, 0), short)
	require.NoError(t, p.Close())

	r, err := decode.NewReader("capture", &file)
	require.NoError(t, err)
	for _, want := range []struct {
		at    time.Time
		bytes []byte
		whole int
	}{{time.Unix(1, 1), short, len(short)}, {time.Unix(2, 500_000_000), long[:snapLen], len(long)}} {
		rec, err := r.Next()
		require.NoError(t, err)
		require.True(t, want.at.Equal(rec.Time))
		require.Equal(t, decode.LinkEthernet, rec.Link)
		require.Equal(t, want.bytes, rec.Data)
		require.Equal(t, want.whole, rec.Length)
	}
	require.Zero(t, file.Len(), "what came behind Close")
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
func TestErrorsAreTold(t *testing.T) {
	_, err := pcap.NewWriter(&failing{0}, 128)
	require.ErrorContains(t, err, "disk full")
	p, err := pcap.NewWriter(&failing{1}, 128)
	require.NoError(t, err)
	p.Frame(time.Time{}, make([]byte, 60))
	require.ErrorContains(t, p.Close(), "disk full")
	require.ErrorContains(t, p.Close(), "disk full")
}
