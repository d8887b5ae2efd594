//go:build linux

package interop

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// E04: on a kernel without IPv6, which does not even make sockets of it, every link
// carries IPv4, to roci on this machine. GID 0, which is of IPv6, stays with a note.
func TestKernelWithoutIPv6(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns)
	roci := buildRoci(t)
	program, err := os.ReadFile(roci)
	require.NoError(t, err)
	g := guest.BootForTest(t, guest.KernelNewest, guest.Config{Data: guest.OnTap, NoRDMA: true, Params: []string{"ipv6.disable=1"}})
	require.NoError(t, g.Put(bounded(t), guestRoci, program, 0o755))

	r, err := g.Run(bounded(t), "[ ! -e /proc/sys/net/ipv6 ] && "+guestRoci+" devices eth0")
	require.NoError(t, err)
	require.Zero(t, r.Code, r.Stdout+r.Stderr)
	t.Log(r.Stdout)
	require.Contains(t, r.Stdout, "unusable: eth0 has no IPv6 address")
	require.Contains(t, r.Stdout, "::ffff:"+guest.GuestIPv4.Addr().String())

	for _, l := range []string{"udp", "raw", "xdp"} {
		t.Run(l, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), cellTimeout)
			defer cancel()
			c := pingpongCell{pingpongSmoke[0], l, "server", "IPv4"}
			server := startInGuest(ctx, t, g, strings.Join(append([]string{guestRoci}, c.rociArgs("eth0", l)...), " "), "")
			client := exec.CommandContext(ctx, roci, append(c.rociArgs(guest.TapName, "udp"), guest.GuestIPv4.Addr().String())...)
			ours := parsePingpongReport(t, output(t, g.Netns(), client))
			r, err := server.Wait()
			require.NoError(t, err)
			require.Zero(t, r.Code, r.Stdout+r.Stderr)
			far := parsePingpongReport(t, r.Stdout)
			require.Equal(t, ours.remote, far.local)
			require.Equal(t, guest.GuestIPv4.Addr(), far.local.addr)
		})
	}
}
