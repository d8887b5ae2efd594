package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// The two ends as commands: the server as the tool would print, the client for
// programs and with a trace.
func TestPingpongBothEnds(t *testing.T) {
	l, err := udp.Open(netip.MustParseAddr("127.78.0.1"))
	if errors.Is(err, udp.ErrPortInUse) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, l.Close())
	port := freePort(t)
	server := newRoot()
	r, w := io.Pipe()
	server.SetOut(w)
	server.SetArgs(strings.Fields("pingpong -c -n 20 -s 3000 --stats --dcqcn connectx --addr 127.78.0.1 -p " + port))
	served := make(chan error, 1)
	go func() {
		err := server.ExecuteContext(t.Context())
		w.Close()
		served <- err
	}()
	report := bufio.NewScanner(r)
	if !report.Scan() { // the server listens when it says its address
		require.NoError(t, <-served)
	}
	require.Contains(t, report.Text(), "GID ::ffff:127.78.0.1")
	rest := make(chan string, 1)
	go func() {
		var b strings.Builder
		for report.Scan() {
			fmt.Fprintln(&b, report.Text())
		}
		rest <- b.String()
	}()

	file := filepath.Join(t.TempDir(), "client.pcapng")
	out, err := roci(strings.Fields("pingpong -e -c -n 20 -s 3000 --addr 127.78.0.2 --dcqcn paper --cnp --json --trace " + file + " -p " + port + " 127.78.0.1")...)
	require.NoError(t, err)
	require.NoError(t, <-served)
	printed := <-rest
	require.Contains(t, printed, "20 iters in ")
	require.Regexp(t, `(?m)^counter +this end  of what$`, printed)
	require.Regexp(t, `(?m)^QP 0x[0-9a-f]{6}: not slowed down, line rate .+$`, printed)
	require.Regexp(t, `(?m)^rdma_recvs +20  completions: of receives, successful$`, printed)

	var result struct {
		Bytes   int
		Checked int
		Remote  struct{ GID string }

		Counters roce.Counters
		Rate     map[string]float64
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Equal(t, 120000, result.Bytes)
	require.Equal(t, 20, result.Checked)
	require.Equal(t, "::ffff:127.78.0.1", result.Remote.GID)
	require.EqualValues(t, 20, result.Counters[roce.CounterRDMARecvs])
	require.Zero(t, result.Rate["bits_per_sec"])
	require.Positive(t, result.Rate["window_packets"])

	var list bytes.Buffer
	require.NoError(t, decode.Print(&list, file, decode.Options{}))
	require.Contains(t, list.String(), "SEND")
	require.NotContains(t, list.String(), "bad ICRC")
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	return port
}
