package decode

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// captureFiles lists the recorded conversations of kernel stacks.
func captureFiles(t testing.TB) []string {
	t.Helper()
	a, err := filepath.Glob("testdata/captures/*.pcap")
	require.NoError(t, err)
	b, err := filepath.Glob("testdata/captures/*/*.pcap")
	require.NoError(t, err)
	files := append(a, b...)
	slices.Sort(files)
	return files
}

// decodeFile returns the RoCEv2 packets of a capture and the number of its records.
func decodeFile(t testing.TB, name string) (packets []*Packet, records int) {
	t.Helper()
	r, err := Open(name)
	require.NoError(t, err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets, rec.Number + records
		}
		require.NoError(t, err)
		records++
		if p := Decode(&rec); p != nil {
			packets = append(packets, p)
		}
	}
}

// Every packet that the kernels sent decodes without an error and carries the
// ICRC that we compute.
func TestCapturesDecode(t *testing.T) {
	var packets, records int
	for _, name := range captureFiles(t) {
		ps, n := decodeFile(t, name)
		records += n
		for _, p := range ps {
			require.NoError(t, p.Err, "%s packet %d", name, p.Number)
			require.Equal(t, ICRCGood, p.ICRC, "%s packet %d", name, p.Number)
			packets++
		}
	}
	require.Equal(t, 2624, records, "records")
	require.Equal(t, 1503, packets, "RoCEv2 packets, all with a good ICRC")
}
