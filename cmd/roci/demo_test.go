package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/demo"
)

// The demo tells its story, and roci trace reads the capture that it names.
func TestDemo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.pcapng")
	out, err := roci("demo", "--link", "sim", "--stats", "--out", file)
	require.NoError(t, err)
	for _, s := range []string{"7. COMPARE AND SWAP", "one at a time", "✓ Every byte was right", file} {
		require.Contains(t, out, s)
	}
	require.Regexp(t, `(?m)^counter +A +B  of what$`, out)
	require.Regexp(t, `(?m)^rx_read_requests +0 +[1-9]\d*  messages: READs of peers that were carried out$`, out)
	require.NotContains(t, out, "local_ack_timeout_err", "it is 0 for both")
	list, err := roci("trace", file)
	require.NoError(t, err)
	require.Contains(t, list, "48 frames, 48 of them RoCEv2, 48 shown.")
}

func TestDemoJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.pcapng")
	out, err := roci("demo", "--link", "sim", "--out", file, "--size", "1000", "--json")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "\n"))
	var r demo.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, demo.Sim, r.Network)
	require.Equal(t, file, r.Capture)
	require.Len(t, r.Operations, 7)
	require.Equal(t, 1000, r.Operations[0].BurstBytes)
	require.Equal(t, r.CountersA[roce.CounterTxPackets], r.CountersB[roce.CounterRxPackets])
	require.NotZero(t, r.CountersB[roce.CounterRxAtomicRequests])
}

func TestDemoErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--link carrier-pigeon", "there are auto, auto:bandwidth, raw, udp, xdp, xdp:copy, xdp:generic, xdp:native, xdp:zerocopy, sim"},
		{"--size 1048577", "--size 1048577: must be 8 to 1048576"},
		{"now", `demo takes flags only, "now" is none; see roci demo --help`},
	} {
		_, err := roci(append([]string{"demo"}, strings.Fields(c.args)...)...)
		require.ErrorContains(t, err, c.want)
	}
}
