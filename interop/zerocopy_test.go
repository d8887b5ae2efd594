//go:build linux

package interop

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/devices"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

const (
	// zeroCopyMTU has room for the largest packets that virtio_net takes without
	// copying: they have to fit one chunk.
	zeroCopyMTU = 2200

	guestRoci = "/tmp/roci"
)

// zeroCopyCell is a run of roci in a guest, over AF_XDP without copying, against a peer
// at the other end of the cable. The role is that of roci in the guest.
type zeroCopyCell struct {
	pingpongCell
	peer string
}

// TestZeroCopy runs roci in a guest on an interface whose driver reads and writes the
// link's memory, which it must report, against the kernel's device in a second guest
// and against roci on the host.
func TestZeroCopy(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns, testenv.Tshark)
	roci := buildRoci(t)
	g := guest.BootForTest(t, guest.KernelNewest, guest.Config{Data: guest.OnTap, MTU: zeroCopyMTU, NoRDMA: true, ZeroCopy: true})
	rxe := guest.BootForTest(t, guest.Kernel61, guest.Config{Join: g, MTU: zeroCopyMTU})
	program, err := os.ReadFile(roci)
	require.NoError(t, err)
	require.NoError(t, g.Put(bounded(t), guestRoci, program, 0o755))
	lab := zeroCopyLab{g, rxe, roci}
	t.Run("probe", lab.probe)
	var rows []Row
	for _, peer := range zeroCopyPeers() {
		t.Run("against "+peer, func(t *testing.T) { rows = append(rows, lab.against(t, peer)) })
	}
	if testenv.Full() && !t.Failed() {
		require.Len(t, rows, len(zeroCopyPeers()), "results")
		keep(t, rows)
	}
}

// zeroCopyPeers are what is at the other end of the cable: "rxe", in a second guest, or
// the link of roci on the host.
func zeroCopyPeers() []string {
	if testenv.Full() {
		return []string{"raw", "udp", "rxe"}
	}
	return []string{"raw", "rxe"}
}

// zeroCopyShapes are all, or the largest packets alone unless ROCE_FULL is set.
func zeroCopyShapes() []pingpongShape {
	shapes := []pingpongShape{{zeroCopyMTU, 2048, 65536}}
	if testenv.Full() {
		shapes = append(shapes, pingpongShape{zeroCopyMTU, 1024, 1}, pingpongShape{zeroCopyMTU, 1024, 4096})
	}
	return shapes
}

// against runs all cells against a peer.
func (l zeroCopyLab) against(t *testing.T, peer string) Row {
	cells := pingpongMatrix("xdp:zerocopy", zeroCopyShapes())
	var packets []*decode.Packet
	passed := 0
	for _, c := range cells {
		t.Run(c.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), cellTimeout)
			defer cancel()
			packets = append(packets, l.run(ctx, t, zeroCopyCell{c, peer})...)
			passed++
		})
	}
	require.Equal(t, len(cells), passed, "cells that passed")
	return newRow(t, l.g, "zero-copy", "against "+peer, passed, packets)
}

// zeroCopyLab is a guest with our stack, one with the kernel's device, and roci.
type zeroCopyLab struct {
	g, rxe *guest.Guest
	roci   string
}

// run runs the cell and judges it. It returns what was on the cable.
func (l zeroCopyLab) run(ctx context.Context, t *testing.T, c zeroCopyCell) []*decode.Packet {
	file := filepath.Join(t.TempDir(), "cable.pcap")
	stop := record(t, l.g, file)
	serve, call := l.inGuest, l.atPeer
	if c.role == "client" {
		serve, call = l.atPeer, l.inGuest
	}
	served := serve(ctx, t, c, "")
	called := call(ctx, t, c, c.server().String())
	client, server := parsePingpongReport(t, called()), parsePingpongReport(t, served())
	packets := stop()
	require.Equal(t, client.local, server.remote)
	require.Equal(t, client.remote, server.local)
	requireSoundCapture(t, file, packets)
	if c.peer == "rxe" && c.role == "server" {
		c.requireData(t, packets, server)
	} else {
		c.pingpongCell.role = "client" // who varies the data
		c.requireData(t, packets, client)
	}
	return packets
}

// probe has roci send a frame each way, of which the driver takes one without copying.
func (l zeroCopyLab) probe(t *testing.T) {
	r, err := l.g.Run(bounded(t), guestRoci+" devices --probe --json eth0")
	require.NoError(t, err)
	require.Zero(t, r.Code, tail(r))
	var list []devices.Device
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &list), r.Stdout)
	at := slices.IndexFunc(list[0].Links, func(l devices.Link) bool { return l.Way == "native, zero-copy" })
	require.NotEqual(t, -1, at, r.Stdout)
	t.Log(list[0].Links)
	require.Equal(t, devices.Works, list[0].Links[at].Verdict, list[0].Links[at].Note)
}

// server is the IPv4 address that the server listens on, since the tool has no other.
func (c zeroCopyCell) server() netip.Addr {
	switch {
	case c.role == "server":
		return guest.GuestIPv4.Addr()
	case c.peer == "rxe":
		return guest.SecondIPv4.Addr()
	}
	return guest.HostIPv4.Addr()
}

// inGuest starts roci in the guest, as the client of a host or as a server, which then
// listens. wait waits for its end and returns what it printed.
func (l zeroCopyLab) inGuest(ctx context.Context, t *testing.T, c zeroCopyCell, host string) (wait func() string) {
	t.Helper()
	p := startInGuest(ctx, t, l.g, strings.Join(append([]string{guestRoci}, c.rociArgs("eth0", c.link)...), " "), host)
	return func() string {
		r, err := p.Wait()
		require.NoError(t, err)
		require.Zero(t, r.Code, r.Stdout+r.Stderr)
		require.Contains(t, r.Stderr, "native, zero-copy, single buffer")
		return r.Stdout
	}
}

// atPeer is inGuest for the peer.
func (l zeroCopyLab) atPeer(ctx context.Context, t *testing.T, c zeroCopyCell, host string) (wait func() string) {
	t.Helper()
	if c.peer == "rxe" {
		p := startInGuest(ctx, t, l.rxe, c.toolCommand(), host)
		return func() string {
			r, err := p.Wait()
			require.NoError(t, err)
			requireToolPassed(t, r)
			return r.Stdout
		}
	}
	cmd := exec.CommandContext(ctx, l.roci, append(c.rociArgs(guest.TapName, c.peer), strings.Fields(host)...)...)
	if host == "" {
		return startServer(t, l.g.Netns(), cmd)
	}
	return func() string { return output(t, l.g.Netns(), cmd) }
}

// startInGuest starts a command with the server's host as its last word; without one it
// is a server, and then listens.
func startInGuest(ctx context.Context, t *testing.T, g *guest.Guest, command, host string) *guest.Proc {
	t.Helper()
	p, err := g.Start(ctx, strings.TrimSpace(command+" "+host))
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	if host == "" {
		require.NoError(t, g.WaitListening(ctx, pingpongPort), "%s%s", p.Stdout(), p.Stderr())
	}
	return p
}
