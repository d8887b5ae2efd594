package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/demo"
)

// The demo tells its story, and roci trace reads the capture that it names.
func TestDemo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.pcapng")
	out, err := roci("demo", "--link", "sim", "--out", file)
	require.NoError(t, err)
	for _, s := range []string{"7. COMPARE AND SWAP", "one at a time", "✓ Every byte was right", file} {
		require.Contains(t, out, s)
	}
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
}

func TestDemoErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--link carrier-pigeon", "there are auto, auto:bandwidth, raw, udp, xdp, xdp:copy, xdp:generic, xdp:native, xdp:zerocopy, sim"},
		{"--size 1048577", "--size 1048577: must be 8 to 1048576"},
		{"now", `unknown command "now" for "roci demo"`},
	} {
		_, err := roci(append([]string{"demo"}, strings.Fields(c.args)...)...)
		require.ErrorContains(t, err, c.want)
	}
}
