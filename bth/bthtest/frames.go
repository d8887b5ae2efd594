package bthtest

import (
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/wire"
)

//go:embed testdata/frames.txt
var frames string

// Frame is an Ethernet frame of a real device.
type Frame struct {
	Name  string // operation; sender if it is not rdma_rxe of Linux 6.1
	Bytes []byte // without FCS
}

// Frames returns all frames, one of every kind that was at hand.
func Frames(t testing.TB) (all []Frame) {
	t.Helper()
	for line := range strings.Lines(frames) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, digits, _ := strings.Cut(strings.TrimSpace(line), "\t")
		b, err := hex.DecodeString(digits)
		require.NoError(t, err, "frame %q", name)
		all = append(all, Frame{name, b})
	}
	require.NotEmpty(t, all)
	return all
}

// FrameNamed returns one frame.
func FrameNamed(t testing.TB, name string) Frame {
	t.Helper()
	for _, f := range Frames(t) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no frame is named %q; testdata/frames.txt lists them", name)
	return Frame{}
}

// Packet returns the frame's packet, BTH to pad.
func (f Frame) Packet(t testing.TB) []byte {
	t.Helper()
	u := f.Parse(t).Payload
	return u[:len(u)-wire.ICRCLen]
}

// Parse returns the frame's headers and UDP payload.
func (f Frame) Parse(t testing.TB) wire.Frame {
	t.Helper()
	parsed, err := wire.ParseFrame(f.Bytes)
	require.NoError(t, err, "frame %q", f.Name)
	return parsed
}
