package demo

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// The capture that the demo invites to open in Wireshark has, read by its engine, a
// comment on every packet and nothing malformed. Its guesses at what messages hold are
// off: random bytes would be taken for other protocols.
func TestTsharkReadsTheDemosCapture(t *testing.T) {
	testenv.Need(t, testenv.Tshark)
	o, p := quick(t)
	o.Network = Sim
	r, err := run(t.Context(), o, p)
	require.NoError(t, err)

	cmd := exec.Command("tshark", "-r", r.Capture, "-T", "fields",
		"--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic", "eth_over_ib",
		"-e", "infiniband.bth.opcode", "-e", "frame.comment", "-e", "_ws.malformed")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	packets := 0
	for line := range strings.Lines(string(out)) {
		packets++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 3, line)
		require.NotEmpty(t, fields[0], "opcode of packet %d", packets)
		require.NotEmpty(t, fields[1], "comment on packet %d", packets)
		require.Empty(t, fields[2], "packet %d is malformed", packets)
	}
	require.Equal(t, r.Packets, packets)
}
