package devices

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestWhatSpeaksAgainstXDP(t *testing.T) {
	able := needs{netAdmin: true, bpf: true, release: "6.18.1", mtu: 1500}
	with := func(change func(*needs)) needs { n := able; change(&n); return n }
	for _, c := range []struct {
		needs   needs
		verdict Verdict
		says    []string
	}{
		{able, Untried, []string{"nothing was found in its way; `roci devices --probe eth0` tries it"}},
		{with(func(n *needs) { n.nic = errors.New("open eth0: no usable GID") }), Fails, []string{"no usable GID"}},
		{with(func(n *needs) { n.socket = errors.New("no CAP_NET_RAW") }), Fails, []string{"an AF_XDP socket cannot be made: no CAP_NET_RAW"}},
		{with(func(n *needs) { n.netAdmin = false }), Fails, []string{"needs CAP_NET_ADMIN", "run as root, or give"}},
		{with(func(n *needs) { n.bpf = false }), Fails, []string{"needs CAP_BPF", "run as root, or give"}},
		{with(func(n *needs) { n.release = "5.4.0-100" }), Fails, []string{"needs Linux 5.9, and this is 5.4.0-100"}},
		{with(func(n *needs) { n.program = 7 }), Fails, []string{"an XDP program already, id 7", "ip link set dev eth0 xdp off"}},
		{with(func(n *needs) { n.program, n.bpf = 7, false }), Fails, []string{"needs CAP_BPF", "id 7"}},
		{with(func(n *needs) { n.release, n.mtu = "6.1.0-37-amd64", 9000 }), Untried, []string{"tries it", "Linux 6.6, and this is 6.1.0-37-amd64: the path MTU will be 2048"}},
	} {
		l := c.needs.judge("eth0")
		require.Equal(t, c.verdict, l.Verdict, l.Note)
		for _, s := range c.says {
			require.Contains(t, l.Note, s)
		}
	}
	require.NotContains(t, with(func(n *needs) { n.release = "6.1.0" }).judge("eth0").Note, "6.6", "one buffer is enough at this MTU")
}
