package devices

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/wire"
)

// eth0 is a device with something of everything.
func eth0() Device {
	return Device{
		Name: "eth0", State: "ACTIVE", MAC: "02:00:00:00:00:01", MTU: 1500, PathMTU: 1024, Larger: larger(1500),
		Kind: "device", Driver: "virtio_net", RxQueues: 4, TxQueues: 4,
		GIDs: []GID{
			{Index: 0, GID: "fe80::ff:fe00:1", Type: "RoCE v2, IPv6 link-local",
				Problem: "eth0 has no IPv6 address: IPv6 is disabled there (sysctl net.ipv6.conf.eth0.disable_ipv6)"},
			{Index: 1, GID: "::ffff:10.0.0.1", Type: "RoCE v2, IPv4"},
			{Index: 2, GID: "::ffff:10.5.0.1", Type: "RoCE v2, IPv4", Interface: "eth0.5", VLAN: 5},
		},
		Links: []Link{
			{Name: "udp", Verdict: Works},
			{Name: "raw", Verdict: Fails, Note: "CAP_NET_RAW"},
			{Name: "xdp", Way: "native, copy", Verdict: Works, Note: "multi-buffer, queues [0]"},
			{Name: "xdp", Way: "native, zero-copy", Verdict: Fails, Note: "the driver has none"},
		},
	}
}

const eth0Text = `eth0  PORT_ACTIVE  02:00:00:00:00:01  device (driver virtio_net)  queues: up to 4 rx, 4 tx
  MTU   1500, so the largest path MTU is 1024; for 2048 set the MTU to 2144
  GID   0  fe80::ff:fe00:1  RoCE v2, IPv6 link-local; unusable: eth0 has no IPv6 address: IPv6 is
        disabled there (sysctl net.ipv6.conf.eth0.disable_ipv6)
        1  ::ffff:10.0.0.1  RoCE v2, IPv4
        2  ::ffff:10.5.0.1  RoCE v2, IPv4, VLAN 5 (eth0.5)
  udp   works
  raw   fails: CAP_NET_RAW
  xdp   native, copy works: multi-buffer, queues [0]
  xdp   native, zero-copy fails: the driver has none
`

const dummy0Text = `
dummy0  PORT_DOWN  dummy  queues: up to 1 rx, 1 tx
  MTU   300, too small for any path MTU; for 256 set the MTU to 352
  udp, raw fails: no usable GID
`

func TestPrint(t *testing.T) {
	var b strings.Builder
	dummy0 := Device{Name: "dummy0", State: "DOWN", MTU: 300, Larger: larger(300), Kind: "dummy", Driver: "dummy", RxQueues: 1, TxQueues: 1,
		Links: []Link{{Name: "udp", Verdict: Fails, Note: "no usable GID"}, {Name: "raw", Verdict: Fails, Note: "no usable GID"}}}
	require.NoError(t, Print(&b, []Device{eth0(), dummy0}))
	require.Equal(t, eth0Text+dummy0Text, b.String())
}

func TestLargerPathMTUs(t *testing.T) {
	for mtu, want := range map[int]*PathMTU{
		100: {256, 352}, 351: {256, 352}, 1500: {2048, 2144}, 2144: {4096, 4192}, 4191: {4096, 4192}, 4192: nil, 65536: nil,
	} {
		require.Equal(t, want, larger(mtu), mtu)
	}
}

// What ibv_devinfo -v shows of a kernel device on an interface with this MAC and these
// addresses (testdata/ibv_devinfo.txt) is what is shown here, line by line, but for
// the limits, which are of different stacks.
func TestVerboseSpeaksTheToolsWords(t *testing.T) {
	tool, err := os.ReadFile("testdata/ibv_devinfo.txt")
	require.NoError(t, err)
	theirs := map[string]string{}
	for _, line := range strings.Split(string(tool), "\n") {
		theirs[name(line)] = line
	}
	d := Device{Name: "rxe0", State: "ACTIVE", GUID: guid(wire.MAC{0x52, 0x54, 0, 0xdd, 0, 3}), MTU: 1500, PathMTU: 1024}
	for n, a := range []string{"fe80::5054:ff:fedd:3", "10.10.0.3", "fd00:10::3"} {
		d.GIDs = append(d.GIDs, describeGID(hostnet.GID{Index: n, Addr: parse(a)}))
	}
	var b strings.Builder
	require.NoError(t, PrintVerbose(&b, []Device{d}))
	same, limits, ours := []string{}, []string{}, []string{}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		switch n := name(line); {
		case n == "link_mtu" || n == "interface":
			ours = append(ours, n)
		case n == "max_sge" || n == "max_qp_rd_atom" || n == "max_msg_sz" || n == "gid_tbl_len":
			require.Contains(t, theirs, n)
			limits = append(limits, n)
		default:
			require.Equal(t, theirs[n], line)
			same = append(same, n)
		}
	}
	require.Len(t, same, 17)
	require.Len(t, limits, 4)
	require.Len(t, ours, 2)
}

// name is what a line is about.
func name(line string) string {
	n, _, _ := strings.Cut(strings.TrimSpace(line), ":")
	return n
}
