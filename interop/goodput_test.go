//go:build linux

package interop

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// What is written under loss: so much, in messages of 64 packets, some of them under way.
const (
	goodputMessage = 65536
	goodputDepth   = 16
)

// goodputLosses are probabilities with which each packet is lost, in either direction.
var goodputLosses = []float64{0, 0.001, 0.01}

// TestGoodput writes from each kind of end to each other under equal loss, in kernels in
// virtual machines, and reports what came of it. What is right is tested; how fast it is
// depends on the machine, and so one compares only what one run says.
func TestGoodput(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns)
	g := guest.BootForTest(t, guest.KernelNewest, guest.Config{Data: guest.OnTap})
	second := guest.BootForTest(t, guest.KernelNewest, guest.Config{Join: g})
	b := newBench(t, openLab(t, g, openIn(t, g.Netns(), guest.TapName, openRaw), ""), families[0])
	ours := b.connect(t, usual)
	from, to := connectKernels(t, b, second)
	var rows []Row
	for _, c := range []struct {
		name      string
		req, resp end
	}{
		{"roce to rxe", ours.ours, ours.kernel}, {"rxe to roce", ours.kernel, ours.ours}, {"rxe to rxe", from, to},
	} {
		for _, loss := range goodputLosses {
			t.Run(fmt.Sprintf("%s, %g %% lost", c.name, 100*loss), func(t *testing.T) {
				rows = append(rows, b.goodput(t, c.name, c.req, c.resp, loss))
			})
		}
	}
	if testenv.Full() && !t.Failed() {
		require.Len(t, rows, 3*len(goodputLosses), "results")
		keep(t, rows)
	}
}

// usual is what rdma-core's programs set by default: timeouts of 67 ms.
var usual = settings{timeout: 14, retry: 7, rnrRetry: 7}

// goodputMessages is how many are written.
func goodputMessages() int {
	if testenv.Full() {
		return 512
	}
	return 32
}

// goodput writes all messages, which must arrive unchanged.
func (b *bench) goodput(t *testing.T, name string, req, resp end, loss float64) Row {
	if loss > 0 {
		defer b.tap.strike(fault.Drop(fault.Match{P: loss, Seed: 1}))()
	}
	messages := goodputMessages()
	req.fill(t, sourceOff, goodputMessage, requesterSeed)
	resp.fill(t, inboxOff, inboxSize, background)
	mark, begun := b.tap.mark(), time.Now()
	for i := range messages {
		if i >= goodputDepth {
			requireWritten(t, req)
		}
		req.post(t, work{id: uint64(i), op: roce.OpWrite, off: sourceOff, n: goodputMessage, at: resp.remote(arrivalOff)})
	}
	for range goodputDepth {
		requireWritten(t, req)
	}
	took := time.Since(begun)
	require.Equal(t, withMessage(guest.Pattern(requesterSeed, goodputMessage)), resp.sum(t, inboxOff, inboxSize))
	row := b.row(t, "goodput", fmt.Sprintf("%s, %g %% lost", name, 100*loss), 1, recorded(b.tap.since(mark)))
	row.Goodput = float64(messages*goodputMessage) / 1e6 / took.Seconds()
	t.Logf("%.1f MB/s", row.Goodput)
	return row
}

func requireWritten(t *testing.T, req end) {
	t.Helper()
	require.Equal(t, roce.StatusSuccess, req.completions(t, 1)[0].status)
}

// connectKernels connects an end in the bench's guest to one in another guest on the same
// cable.
func connectKernels(t *testing.T, b *bench, other *guest.Guest) (x, y *kernelEnd) {
	t.Helper()
	peer, err := other.StartPeer(bounded(t), guest.PeerConfig{GIDIndex: b.gid})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, peer.Close()) })
	region, err := peer.Register(bounded(t), memorySize, guest.AccessAll)
	require.NoError(t, err)
	x, y = &kernelEnd{peer: b.peer, mem: b.region}, &kernelEnd{peer: peer, mem: region}
	for _, e := range []*kernelEnd{x, y} {
		e.qp, err = e.peer.NewQP(bounded(t), guest.PeerQPConfig{PSN: firstPSN})
		require.NoError(t, err)
		t.Cleanup(func() { e.destroy(t) })
	}
	s := usual
	for _, e := range [][2]*kernelEnd{{x, y}, {y, x}} {
		require.NoError(t, e[0].qp.Connect(bounded(t), guest.PeerConnect{
			QPN: e[1].qp.QPN, PSN: firstPSN, GID: e[1].peer.GID(), MTU: pathMTU,
			Timeout: &s.timeout, Retry: &s.retry, RNRRetry: &s.rnrRetry,
		}))
	}
	return x, y
}
