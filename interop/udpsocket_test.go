//go:build linux

package interop

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// TestUDPSocket runs the stack over the kernel's UDP socket against rdma_rxe, in both
// directions. The kernel computes the ICRC with the IPv4 identification, which a UDP
// socket does not show: the trace must say that the ICRC was inferred until the
// identification is an expected one, and never over IPv6, which has none. The peer is
// the oldest kernel, and if ROCE_FULL is set each of the others too.
func TestUDPSocket(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns, testenv.Tshark)
	kernels := []guest.Kernel{guest.Kernel61}
	if testenv.Full() {
		kernels = guest.Kernels()
	}
	var rows []Row
	for _, k := range kernels {
		t.Run(string(k), func(t *testing.T) {
			g := guest.BootForTest(t, k, guest.Config{Data: guest.OnTap})
			for _, f := range families {
				t.Run(f.name, func(t *testing.T) { rows = append(rows, testUDPSocket(t, g, f)) })
			}
		})
	}
	if testenv.Full() && !t.Failed() {
		require.Len(t, rows, len(kernels)*len(families), "results")
		keep(t, rows)
	}
}

func testUDPSocket(t *testing.T, g *guest.Guest, f family) Row {
	dir := t.TempDir()
	cable, traced := filepath.Join(dir, "cable.pcap"), filepath.Join(dir, "trace.pcapng")
	stop := record(t, g, cable)
	passed := runTraced(t, g, f, traced)
	packets := stop()
	requireSoundCapture(t, cable, packets)
	requireTraced(t, f, packets, readPackets(t, traced))
	return newRow(t, g, "udp", "both ways over "+f.name, passed, packets)
}

// runTraced runs operations over a UDP socket, with a trace of all packets, and returns
// how many passed.
func runTraced(t *testing.T, g *guest.Guest, f family, file string) (passed int) {
	t.Helper()
	var link *udp.Link
	require.NoError(t, g.Netns().Do(func() (err error) {
		link, err = udp.Open(f.host)
		return err
	}))
	out, err := os.Create(file)
	require.NoError(t, err)
	recorder := trace.NewSync(trace.NewPcapng(out, time.Now().Add(-time.Duration(clock.Now()))))
	dev, err := roce.Open(link, roce.WithTap(recorder.Device("ours")))
	require.NoError(t, err)
	t.Run("operations", func(t *testing.T) {
		b := newBench(t, &lab{g: g, dev: dev}, f)
		var p *pair
		require.NoError(t, g.Netns().Do(func() error { // where the route to the guest is
			p = b.connect(t, patient)
			return nil
		}))
		for _, w := range ways {
			req, resp := w.ends(p)
			for i, c := range opcodeCells(fewLengths) {
				c.run(t, req, resp, uint64(i))
				passed++
			}
		}
	})
	require.NoError(t, dev.Close())
	require.NoError(t, recorder.Close())
	require.NoError(t, out.Close())
	require.Equal(t, len(ways)*len(opcodeCells(fewLengths)), passed, "operations that passed")
	return passed
}

// requireTraced holds the trace against what was on the cable: it has the same packets,
// and says what could be known of their ICRCs.
func requireTraced(t *testing.T, f family, cable, traced []*decode.Packet) {
	t.Helper()
	cable, traced = from(f.guest, cable), from(f.guest, traced)
	require.Len(t, traced, len(cable))
	inferred := 0
	for i, p := range traced {
		require.Equal(t, cable[i].Frame, p.Frame, "packet %d from the kernel", i)
		if strings.Contains(p.Comment, "ICRC inferred") {
			inferred++
		} else {
			require.NotContains(t, p.Comment, "ICRC")
		}
	}
	t.Logf("%d packets came from the kernel, the first with identification %d: %s", len(cable), cable[0].ID, traced[0].Comment)
	if f.host.Is6() {
		require.Zero(t, inferred, "inferred ICRCs")
		return
	}
	if cable[0].ID != 0 { // which is always an expected one
		require.Contains(t, traced[0].Comment, "ICRC inferred")
	}
	require.Less(t, inferred, len(traced)/2, "inferred ICRCs, though identifications follow each other")
}

// from are the packets of a sender.
func from(addr netip.Addr, packets []*decode.Packet) (sent []*decode.Packet) {
	for _, p := range packets {
		if p.Src == addr {
			sent = append(sent, p)
		}
	}
	return sent
}
