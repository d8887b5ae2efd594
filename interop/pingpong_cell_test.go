//go:build linux

package interop

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/interop/guest"
)

const pingpongPort = 18515

// run runs the cell and judges it.
func (c pingpongCell) run(ctx context.Context, t *testing.T, g *guest.Guest, roci string) pingpongRow {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cable.pcap")
	stop := record(t, g, file)
	var ours, tools string
	if c.role == "client" {
		ours, tools = c.runAsClient(ctx, t, g, roci)
	} else {
		ours, tools = c.runAsServer(ctx, t, g, roci)
	}
	packets := stop()

	end := parsePingpongReport(t, ours)
	far := parsePingpongReport(t, tools)
	require.Equal(t, end.local, far.remote, "both ends tell the same of roci's queue pair")
	require.Equal(t, end.remote, far.local, "both ends tell the same of the tool's queue pair")
	require.Equal(t, c.hostAddr(), end.local.addr)
	require.Equal(t, c.guestAddr(), end.remote.addr)

	requireSoundCapture(t, file, packets)
	c.requireData(t, packets, end)
	row := c.row(t, g, packets)
	t.Logf("%d packets, %d sent again", row.Packets, row.Retransmitted)
	return row
}

// runAsClient runs roci as the client of the tool. Each echo that comes back is
// compared by roci.
func (c pingpongCell) runAsClient(ctx context.Context, t *testing.T, g *guest.Guest, roci string) (ours, tools string) {
	t.Helper()
	server, err := g.Start(ctx, c.toolCommand())
	require.NoError(t, err)
	defer server.Kill()
	require.NoError(t, g.WaitListening(ctx, pingpongPort))
	// The tool listens on IPv4 only, whichever family its GID is of.
	ours = output(t, g.Netns(), exec.CommandContext(ctx, roci, append(c.rociArgs(guest.TapName, c.link), guest.GuestIPv4.Addr().String())...))
	r, err := server.Wait()
	require.NoError(t, err)
	requireToolPassed(t, r)
	return ours, r.Stdout
}

// runAsServer runs roci as the server of the tool.
func (c pingpongCell) runAsServer(ctx context.Context, t *testing.T, g *guest.Guest, roci string) (ours, tools string) {
	t.Helper()
	out := startServer(t, g.Netns(), exec.CommandContext(ctx, roci, c.rociArgs(guest.TapName, c.link)...))
	r, err := g.Run(ctx, c.toolCommand()+" "+c.hostAddr().String())
	require.NoError(t, err, r.Stdout+r.Stderr)
	requireToolPassed(t, r)
	return out(), r.Stdout
}

// output runs a command in a namespace to its end and returns what it printed.
func output(t *testing.T, n *netns.Netns, cmd *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, n.Start(cmd))
	require.NoError(t, cmd.Wait(), "%s\n%s%s", cmd, &out, &errs)
	return out.String()
}

// startServer starts roci as a server in a namespace and returns when it listens; wait
// returns its whole output when it has ended.
func startServer(t *testing.T, n *netns.Netns, cmd *exec.Cmd) (wait func() string) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, n.Start(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // has ended, unless the test failed
	var out bytes.Buffer
	line := make([]byte, 1)
	for !strings.HasSuffix(out.String(), "\n") { // it listens when it says its address
		_, err := pipe.Read(line)
		if err != nil {
			_ = cmd.Wait()
			require.NoError(t, err, "roci ended: %s", errs.String())
		}
		out.Write(line)
	}
	return func() string {
		_, err := out.ReadFrom(pipe)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait(), "roci: %s%s", out.String(), errs.String())
		return out.String()
	}
}

func (c pingpongCell) flags() string {
	return fmt.Sprintf("-c -n %d -s %d -m %d", pingpongIters, c.size, c.mtu)
}

// rociArgs are the arguments of roci on an interface, over a link.
func (c pingpongCell) rociArgs(ifname, link string) []string {
	return append([]string{"pingpong", "--link", link, "--dev", ifname, "-g", strconv.Itoa(c.gid())}, strings.Fields(c.flags())...)
}

func (c pingpongCell) toolCommand() string {
	return fmt.Sprintf("ibv_rc_pingpong -d rxe0 -g %d %s", c.gid(), c.flags())
}

// gid is the index of the family's address, which is the same at both ends.
func (c pingpongCell) gid() int {
	if c.family == "IPv6" {
		return guest.GIDIndexIPv6
	}
	return guest.GIDIndexIPv4
}

func (c pingpongCell) hostAddr() netip.Addr {
	if c.family == "IPv6" {
		return guest.HostIPv6.Addr()
	}
	return guest.HostIPv4.Addr()
}

func (c pingpongCell) guestAddr() netip.Addr {
	if c.family == "IPv6" {
		return guest.GuestIPv6.Addr()
	}
	return guest.GuestIPv4.Addr()
}

// requireToolPassed fails the test unless the tool ended well. Of data that its -c
// finds wrong it tells, and succeeds nevertheless.
func requireToolPassed(t *testing.T, r guest.Result) {
	t.Helper()
	require.Zero(t, r.Code, r.Stdout+r.Stderr)
	require.Zero(t, r.Signal, r.Stdout+r.Stderr)
	require.NotContains(t, r.Stdout, "invalid data")
}

// pingpongEnd is one end's own view, from its report.
type pingpongEnd struct{ local, remote pingpongAddress }

type pingpongAddress struct {
	qpn  uint32
	psn  bth.PSN
	addr netip.Addr
}

var (
	pingpongAddresses = regexp.MustCompile(`^  local address:  LID 0x0000, QPN 0x(\w{6}), PSN 0x(\w{6}), GID (\S+)
  remote address: LID 0x0000, QPN 0x(\w{6}), PSN 0x(\w{6}), GID (\S+)
`)
	pingpongMeasured = regexp.MustCompile(`(?m)^(\d+) bytes in \d+\.\d\d seconds = \d+\.\d\d Mbit/sec
(\d+) iters in \d+\.\d\d seconds = \d+\.\d\d usec/iter
$`)
)

// parsePingpongReport reads the report, which must have the same form from both.
func parsePingpongReport(t *testing.T, report string) pingpongEnd {
	t.Helper()
	m := pingpongAddresses.FindStringSubmatch(report)
	require.NotNil(t, m, report)
	n := pingpongMeasured.FindStringSubmatch(report)
	require.NotNil(t, n, report)
	require.Equal(t, strconv.Itoa(pingpongIters), n[2])
	parse := func(m []string) pingpongAddress {
		qpn, err := strconv.ParseUint(m[0], 16, 24)
		require.NoError(t, err)
		psn, err := strconv.ParseUint(m[1], 16, 24)
		require.NoError(t, err)
		addr, err := netip.ParseAddr(m[2])
		require.NoError(t, err)
		return pingpongAddress{uint32(qpn), bth.PSN(psn), addr.Unmap()}
	}
	return pingpongEnd{parse(m[1:]), parse(m[4:])}
}
