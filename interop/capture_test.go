//go:build linux

package interop

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/trace/decode"
)

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
