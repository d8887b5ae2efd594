//go:build linux

package guest

import (
	"context"
	"encoding/binary"
	"net/netip"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// What the test's hand-made responder needs of the transport.
const (
	opSendOnly    = 0x04
	opAcknowledge = 0x11
	bthLen        = 12
	aethLen       = 4
)

// TestWireToKernel has the guest's kernel send one message over the wire, loses
// it once, and acknowledges the second try by hand.
func TestWireToKernel(t *testing.T) {
	forEachKernel(t, Config{}, func(ctx context.Context, t *testing.T, g *Guest) {
		l, err := g.Wire().Link()
		require.NoError(t, err)
		defer l.Close()
		file := filepath.Join(t.TempDir(), "wire.pcap")
		stop, err := g.Wire().Record(file)
		require.NoError(t, err)
		for _, c := range []struct {
			name      string
			gid       int
			own, peer netip.Addr
		}{
			{"ipv4", GIDIndexIPv4, HostIPv4.Addr(), GuestIPv4.Addr()},
			{"ipv6", GIDIndexIPv6, HostIPv6.Addr(), GuestIPv6.Addr()},
		} {
			t.Run(c.name, func(t *testing.T) { oneSend(ctx, t, g, l, c.gid, c.own, c.peer) })
		}
		require.NoError(t, stop())
		require.Zero(t, g.Wire().Overflow())

		testenv.Need(t, testenv.Tshark)
		out, err := exec.Command("tshark", "-r", file, "-Y", "infiniband").CombinedOutput()
		require.NoError(t, err, string(out))
		t.Log("\n" + string(out))
	})
}

func oneSend(ctx context.Context, t *testing.T, g *Guest, l link.Link, gid int, own, guest netip.Addr) {
	const qpn, psn = 0x1234, 0xabcdef
	q := l.Queue()
	p, err := g.StartPeer(ctx, PeerConfig{GIDIndex: gid})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, guest, p.GID())
	r, err := p.Register(ctx, 100, AccessAll)
	require.NoError(t, err)
	require.NoError(t, r.Fill(ctx, 0, 100, 7))
	qp, err := p.NewQP(ctx, PeerQPConfig{PSN: psn})
	require.NoError(t, err)
	require.NoError(t, qp.Connect(ctx, PeerConnect{QPN: qpn, PSN: 1, GID: own, TrafficClass: 0x22}))

	first := fault.Drop(fault.Match{From: "guest", Nth: 1})
	g.Wire().Faults.Add(first)
	defer g.Wire().Faults.Remove(first)
	require.NoError(t, qp.Post(ctx, PeerWR{ID: 1, Op: PeerSend, Mem: PeerMem{Region: r, N: 100}}))

	rx := receiveOne(ctx, t, q)
	require.Equal(t, 1, g.Wire().Faults.Hits(first))
	packet := rx.Frag[0]
	require.Equal(t, guest, rx.Meta.Src)
	require.Equal(t, uint8(2), rx.Meta.ECN)
	require.True(t, wire.VerifyICRC(rx.Meta.Src, rx.Meta.Dst, rx.Meta.SrcPort, rx.Meta.Flags, rx.Meta.ID, rx.Frag), "ICRC")
	require.Equal(t, byte(opSendOnly), packet[0])
	require.Equal(t, uint32(qpn), binary.BigEndian.Uint32(packet[4:])&0xffffff)
	require.Equal(t, uint32(psn), binary.BigEndian.Uint32(packet[8:])&0xffffff)
	require.Equal(t, Pattern(7, 100), packet[bthLen:len(packet)-wire.ICRCLen])
	q.Release()

	path := wire.Path{Src: own, Dst: guest, SrcPort: 0xc001}
	require.NoError(t, l.Resolve(&path))
	path.Prepare()
	var s link.Slot
	q.Reserve(&path, bthLen+aethLen, nil, 0, true, &s)
	binary.BigEndian.PutUint32(s.Head, opAcknowledge<<24|0xffff)
	binary.BigEndian.PutUint32(s.Head[4:], qp.QPN)
	binary.BigEndian.PutUint32(s.Head[8:], psn)
	binary.BigEndian.PutUint32(s.Head[12:], 0x1f<<24|1) // no credits; MSN 1
	path.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Zero(t, pending)

	wc, err := qp.Poll(ctx, 1, 10*time.Second)
	require.NoError(t, err)
	require.Len(t, wc, 1)
	require.Equal(t, PeerSuccess, wc[0].Status, wc[0].StatusText)
	require.NoError(t, qp.Destroy(ctx))
}

// receiveOne waits for the next packet; later retries of it are dropped.
func receiveOne(ctx context.Context, t *testing.T, q link.Queue) link.Rx {
	t.Helper()
	end, ok := ctx.Deadline()
	require.True(t, ok)
	var rx [1]link.Rx
	for q.Recv(rx[:]) == 0 {
		require.True(t, time.Now().Before(end), "no packet from the guest")
		q.Arm(q.Now().Add(time.Second), link.Interest{Rx: true})
		q.Park()
		q.Disarm()
	}
	return rx[0]
}
