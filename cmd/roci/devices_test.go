package main

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/devices"
	"github.com/rocinante-rdma/roce/internal/hostnet"
)

// loopbackName is the name of an interface that every machine has, for any user.
func loopbackName(t *testing.T) string {
	t.Helper()
	i, err := hostnet.ByAddr(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Skip(err)
	}
	return i.Name
}

func TestDevicesOfTheLoopback(t *testing.T) {
	lo := loopbackName(t)
	out, err := roci("devices", lo)
	require.NoError(t, err)
	require.Contains(t, out, lo+"  PORT_ACTIVE")
	require.Contains(t, out, "::ffff:127.0.0.1")
	for _, line := range strings.Split(out, "\n") {
		require.LessOrEqual(t, len(line), 100, line)
	}
	verbose, err := roci("devices", "-v", lo)
	require.NoError(t, err)
	require.Contains(t, verbose, "hca_id:\t"+lo+"\n")
	require.Contains(t, verbose, "state:\t\t\tPORT_ACTIVE (4)\n")
	require.Contains(t, verbose, "::ffff:127.0.0.1, RoCE v2\n")
}

func TestDevicesForPrograms(t *testing.T) {
	lo := loopbackName(t)
	out, err := roci("devices", "--json", lo)
	require.NoError(t, err)
	var list []devices.Device
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list, 1)
	require.Equal(t, lo, list[0].Name)
	require.Equal(t, 4096, list[0].PathMTU)
	require.Equal(t, []string{"udp", "raw", "xdp"}, []string{list[0].Links[0].Name, list[0].Links[1].Name, list[0].Links[2].Name})
}

func TestDevicesListsAllInterfaces(t *testing.T) {
	all, err := hostnet.Interfaces()
	require.NoError(t, err)
	out, err := roci("devices")
	require.NoError(t, err)
	for _, i := range all {
		require.Contains(t, "\n"+out, "\n"+i.Name+"  PORT_")
	}
}

func TestDevicesRefusesBadArguments(t *testing.T) {
	for args, says := range map[string]string{
		"--probe":     "name them, as in roci devices --probe eth0",
		"nosuch":      `no network interface "nosuch"; there are`,
		"-v --json":   "verbose json",
		"--prob eth0": "unknown flag: --prob; see roci devices --help",
	} {
		_, err := roci(append([]string{"devices"}, strings.Fields(args)...)...)
		require.ErrorContains(t, err, says, args)
	}
}
