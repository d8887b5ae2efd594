package decode

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/fuzzing"
)

// printSeeds are whole captures of each kind.
func printSeeds(t testing.TB) (seeds [][]byte) {
	t.Helper()
	for _, name := range []string{"vt_read", "vt_err_rnr_once", "cm_reject_no_listener", "vt_atomic_fadd", "vt_zero_send"} {
		b, err := os.ReadFile("testdata/captures/" + name + ".pcap")
		require.NoError(t, err)
		seeds = append(seeds, b)
	}
	raw := ngBlock(blockInterface, []byte{101, 0, 0, 0, 0, 0, 0, 0})
	return append(seeds, ngFile(raw, ngBlock(blockEnhanced, make([]byte, 60))))
}

// fuzzPrint prints a capture in memory, in a format that its length chooses. Errors
// are right.
func fuzzPrint(b []byte) {
	open := func() (*Reader, error) { return NewReader("x", bytes.NewReader(b)) }
	_ = printCapture(io.Discard, open, Options{Format: Format(len(b) % 3)})
}

// No file, however damaged, makes the way from bytes to printed lines panic or hang.
// Go's fuzzer needs -fuzzminimizetime 1x here: coverage varies with map order.
func FuzzPrint(f *testing.F) {
	for _, s := range printSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzPrint(b) })
}

func TestDrivePrint(t *testing.T) { fuzzing.Drive(t, "decode.FuzzPrint", printSeeds(t), fuzzPrint) }
