//go:build linux

package interop

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// record records what passes a guest's wire from now on. stop ends that and returns the
// RoCEv2 packets, which are then in the file.
func record(t *testing.T, g *guest.Guest, file string) (stop func() []*decode.Packet) {
	t.Helper()
	end, err := g.Wire().Record(file)
	require.NoError(t, err)
	return func() []*decode.Packet {
		t.Helper()
		require.NoError(t, end())
		require.Zero(t, g.Wire().Overflow(), "frames that our end was too slow for")
		return readPackets(t, file)
	}
}

// readPackets reads the RoCEv2 packets of a capture file.
func readPackets(t *testing.T, file string) (packets []*decode.Packet) {
	t.Helper()
	r, err := decode.Open(file)
	require.NoError(t, err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets
		}
		require.NoError(t, err)
		rec.Data = bytes.Clone(rec.Data)
		if p := decode.Decode(&rec); p != nil {
			packets = append(packets, p)
		}
	}
}
