package roce_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// The peer of BenchmarkPacing is a process of its own: in one process, Go's scheduler lets
// the one wait for the other, and that would be measured.

// pacingPeerVariable makes the process of a benchmark that peer.
const pacingPeerVariable = "ROCE_TEST_PACING_PEER"

// regionLine is how the peer tells of its region; its queue pair stands in the next line.
const regionLine = "region %d %d\n"

// bePacingPeer is the peer, until its input ends.
func bePacingPeer(b *testing.B) {
	e := newBenchEnd(b, loopback(b), 1, 1).second(roce.QPConfig{})
	there := e.mr.Remote()
	fmt.Printf("\n"+regionLine+"%s\n", there.Addr, there.Key, e.qp.Info())
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadString('\n')
	must(err)
	info, err := roce.ParseInfo(strings.TrimSpace(line))
	must(err)
	must(e.qp.Connect(info))
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, in)
}

// startPacingPeer starts the peer of a queue pair and connects both. It returns the peer's
// region.
func startPacingPeer(b *testing.B, q *roce.QP) (there roce.Remote) {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(self, "-test.run=^$", "-test.bench=^BenchmarkPacing$", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), pacingPeerVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		require.NoError(b, cmd.Wait())
	})

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text()+"\n", regionLine, &there.Addr, &there.Key); n == 2 {
			break
		}
	}
	require.True(b, lines.Scan())
	info, err := roce.ParseInfo(lines.Text())
	require.NoError(b, err, "what the peer says of itself")
	require.NoError(b, q.Connect(info))
	_, err = fmt.Fprintln(in, q.Info())
	require.NoError(b, err)
	require.True(b, lines.Scan())
	require.Equal(b, "connected", lines.Text())
	return there
}
