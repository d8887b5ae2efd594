//go:build linux

package guest

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

func forEachKernel(t *testing.T, cfg Config, f func(ctx context.Context, t *testing.T, g *Guest)) {
	for _, k := range Kernels() {
		t.Run(string(k), func(t *testing.T) {
			g := BootForTest(t, k, cfg)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			f(ctx, t, g)
		})
	}
}

func TestBoot(t *testing.T) {
	forEachKernel(t, Config{}, func(ctx context.Context, t *testing.T, g *Guest) {
		t.Logf("boot: %.2f s", g.BootTime().Seconds())

		r, err := g.Run(ctx, "uname -r; rdma link; ibv_devinfo; cat /sys/class/infiniband/rxe0/ports/1/gids/[012]")
		require.NoError(t, err)
		require.Zero(t, r.Code, r.Stderr)
		t.Log(r.Stdout)
		require.Contains(t, r.Stdout, g.image.Release)
		require.Contains(t, r.Stdout, "link rxe0/1 state ACTIVE physical_state LINK_UP netdev eth0")
		require.Contains(t, r.Stdout, "PORT_ACTIVE")
		require.Contains(t, r.Stdout, "fe80:0000:0000:0000:5054:00ff:fedd:0002\n"+
			"0000:0000:0000:0000:0000:ffff:0a0a:0002\n"+
			"fd00:0010:0000:0000:0000:0000:0000:0002\n")
		require.NotContains(t, g.Console(), "failed")

		t.Run("scripts", func(t *testing.T) { testScripts(ctx, t, g) })
		t.Run("tcp", func(t *testing.T) { testTCP(ctx, t, g) })
		t.Run("peer", func(t *testing.T) { testPeer(ctx, t, g) })
		t.Run("programs load", func(t *testing.T) {
			r, err := g.Run(ctx, "for f in /usr/bin/*; do [ -L $f ] || /lib64/ld-linux-x86-64.so.2 --verify $f || echo $f; done; "+
				"iptables -A INPUT -p udp --dport 4791 -m statistic --mode nth --every 3 --packet 0 -m length --length 0:9000 -j DROP && iptables -S INPUT && "+
				"tc qdisc add dev lo root netem delay 1ms && modprobe nvme-rdma && modprobe 8021q")
			require.NoError(t, err)
			require.Zero(t, r.Code, r.Stderr)
			require.Contains(t, r.Stdout, "--every 3")
			require.NotContains(t, r.Stdout, "/usr/bin")
		})
	})
}

func testScripts(ctx context.Context, t *testing.T, g *Guest) {
	r, err := g.Run(ctx, "echo out; echo err >&2; exit 7")
	require.NoError(t, err)
	require.Equal(t, Result{Stdout: "out\n", Stderr: "err\n", Code: 7}, r)

	p, err := g.Start(ctx, "trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.01; done")
	require.NoError(t, err)
	require.NoError(t, p.WaitOutput(ctx, func(out, _ string) bool { return out == "ready\n" }))
	// While it runs there is room for others.
	r, err = g.Run(ctx, "head -c 300000 /dev/zero | tr '\\0' x")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 300000), r.Stdout)
	require.NoError(t, p.Signal(syscall.SIGUSR1))
	r, err = p.Wait()
	require.NoError(t, err)
	require.Equal(t, 3, r.Code)

	p, err = g.Start(ctx, "sleep 1000 & echo $!; wait")
	require.NoError(t, err)
	require.NoError(t, p.WaitOutput(ctx, func(out, _ string) bool { return out != "" }))
	p.Kill()
	r, err = p.Wait()
	require.NoError(t, err)
	require.Equal(t, int(syscall.SIGKILL), r.Signal)
	gone, err := g.Run(ctx, "kill -0 "+r.Stdout)
	require.NoError(t, err)
	require.NotZero(t, gone.Code, "the script's child lives on")

	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = g.Run(short, "sleep 1000")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, g.Put(ctx, "/tmp/script", []byte("#!/bin/sh\necho put\n"), 0o755))
	r, err = g.Run(ctx, "/tmp/script")
	require.NoError(t, err)
	require.Equal(t, "put\n", r.Stdout)
	require.ErrorContains(t, g.Put(ctx, "/nowhere/file", make([]byte, 1<<20), 0o644), "no such file")
}

func testTCP(ctx context.Context, t *testing.T, g *Guest) {
	// To the guest, both ways of reaching it.
	p, err := g.Start(ctx, "nc -l -p 7777; nc -l -p 7778")
	require.NoError(t, err)
	conn, err := g.Dial(ctx, 7777)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "by Dial\n")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	ln, err := g.Forward(7778)
	require.NoError(t, err)
	defer ln.Close()
	conn, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "by Forward\n")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	r, err := p.Wait()
	require.NoError(t, err)
	require.Equal(t, "by Dial\nby Forward\n", r.Stdout)

	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	_, err = g.Dial(short, 7779)
	require.ErrorContains(t, err, "nothing listened")

	// From the guest.
	own, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer own.Close()
	_, port, err := net.SplitHostPort(own.Addr().String())
	require.NoError(t, err)
	p, err = g.Start(ctx, "echo from the guest | nc "+g.GatewayIP()+" "+port)
	require.NoError(t, err)
	conn, err = own.Accept()
	require.NoError(t, err)
	line := make([]byte, len("from the guest\n"))
	_, err = io.ReadFull(conn, line)
	require.NoError(t, err)
	require.Equal(t, "from the guest\n", string(line))
	require.NoError(t, conn.Close())
	_, err = p.Wait()
	require.NoError(t, err)
}

// testPeer connects two QPs of one peer to each other over the guest's own
// rxe0 and does every operation once.
func testPeer(ctx context.Context, t *testing.T, g *Guest) {
	const size = 65537
	p, err := g.StartPeer(ctx, PeerConfig{})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, GuestIPv4.Addr(), p.GID())
	require.Equal(t, 1024, p.ActiveMTU())

	local, err := p.Register(ctx, size, AccessAll)
	require.NoError(t, err)
	remote, err := p.Register(ctx, size, AccessAll|BindWindow)
	require.NoError(t, err)
	a, err := p.NewQP(ctx, PeerQPConfig{PSN: 0xfffffe, Inline: 64})
	require.NoError(t, err)
	b, err := p.NewQP(ctx, PeerQPConfig{PSN: 5})
	require.NoError(t, err)
	require.NoError(t, a.Connect(ctx, PeerConnect{QPN: b.QPN, PSN: b.PSN, GID: p.GID()}))
	require.NoError(t, b.Connect(ctx, PeerConnect{QPN: a.QPN, PSN: a.PSN, GID: p.GID()}))

	done := func(q *PeerQP) PeerWC {
		t.Helper()
		wc, err := q.Poll(ctx, 1, 20*time.Second)
		require.NoError(t, err)
		require.Len(t, wc, 1)
		require.Equal(t, PeerSuccess, wc[0].Status, wc[0].StatusText)
		return wc[0]
	}
	same := func(r *PeerRegion, seed uint64) {
		t.Helper()
		sum, err := r.SHA256(ctx, 0, size)
		require.NoError(t, err)
		require.Equal(t, sha256.Sum256(Pattern(seed, size)), sum)
	}
	all := PeerMem{Region: local, N: size}

	require.NoError(t, local.Fill(ctx, 0, size, 1))
	require.NoError(t, a.Post(ctx, PeerWR{ID: 11, Op: PeerWrite, Mem: all, RemoteAddr: remote.Addr, RKey: remote.RKey}))
	require.Equal(t, uint64(11), done(a).ID)
	same(remote, 1)

	require.NoError(t, remote.Fill(ctx, 0, size, 2))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerRead, Mem: all, RemoteAddr: remote.Addr, RKey: remote.RKey}))
	require.Equal(t, PeerWCRead, done(a).Opcode)
	same(local, 2)

	require.NoError(t, b.PostRecv(ctx, 21, PeerMem{Region: remote, N: size}))
	require.NoError(t, local.Fill(ctx, 0, size, 3))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerSendImm, Mem: all, Imm: 0xcafe0001}))
	done(a)
	wc := done(b)
	const grh, withImm = 1 << 0, 1 << 1 // IBV_WC_GRH, IBV_WC_WITH_IMM
	require.Equal(t, PeerWC{ID: 21, StatusText: "success", Opcode: PeerWCRecv, ByteLen: size, HasImm: true, Imm: 0xcafe0001, Flags: grh | withImm}, wc)
	same(remote, 3)

	require.NoError(t, b.PostRecv(ctx, 22, PeerMem{}))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerWriteImm, RemoteAddr: remote.Addr, RKey: remote.RKey, Imm: 7}))
	done(a)
	require.Equal(t, PeerWCRecvImm, done(b).Opcode)

	require.NoError(t, b.PostRecv(ctx, 23, PeerMem{}))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerSend}))
	done(a)
	require.Zero(t, done(b).ByteLen)

	require.NoError(t, remote.Write(ctx, 8, []byte{40, 0, 0, 0, 0, 0, 0, 0}))
	eight := PeerMem{Region: local, Off: 16, N: 8}
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerFetchAdd, Mem: eight, RemoteAddr: remote.Addr + 8, RKey: remote.RKey, Add: 2}))
	done(a)
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerCompareSwap, Mem: PeerMem{Region: local, Off: 24, N: 8}, RemoteAddr: remote.Addr + 8, RKey: remote.RKey, Compare: 42, Swap: 99}))
	done(a)
	got, err := local.Read(ctx, 16, 16)
	require.NoError(t, err)
	require.Equal(t, []byte{40, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0}, got)
	got, err = remote.Read(ctx, 8, 8)
	require.NoError(t, err)
	require.Equal(t, []byte{99, 0, 0, 0, 0, 0, 0, 0}, got)

	window, err := p.NewWindow(ctx)
	require.NoError(t, err)
	w, err := b.Bind(ctx, 1, window, remote, 0, 4096, RemoteWrite)
	require.NoError(t, err)
	require.Equal(t, PeerWCBind, done(b).Opcode)
	pieces := PeerMem{Region: local, Pieces: []PeerPiece{{0, 10}, {100, 20}}}
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerWrite, Mem: pieces, RemoteAddr: w.Addr, RKey: w.RKey}))
	done(a)
	require.NoError(t, b.PostRecv(ctx, 24, PeerMem{Region: remote}))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerSendInv, Invalidate: w.RKey}))
	done(a)
	wc = done(b)
	require.True(t, wc.HasInv)
	require.Equal(t, w.RKey, wc.Inv)

	require.NoError(t, b.PostRecv(ctx, 25, PeerMem{Region: remote, N: 64}))
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerSend, Mem: PeerMem{Region: local, N: 30}, Inline: true, Solicited: true}))
	done(a)
	require.EqualValues(t, 30, done(b).ByteLen)

	// The window is gone: an access error, which puts both ends into error.
	require.NoError(t, a.Post(ctx, PeerWR{Op: PeerWrite, Mem: eight, RemoteAddr: w.Addr, RKey: w.RKey}))
	failed, err := a.Poll(ctx, 1, 20*time.Second)
	require.NoError(t, err)
	require.Len(t, failed, 1)
	require.Equal(t, PeerRemoteAccess, failed[0].Status, failed[0].StatusText)
	state, err := a.State(ctx)
	require.NoError(t, err)
	require.Equal(t, PeerErr, state)

	none, err := b.Poll(ctx, 1, 0)
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, b.Destroy(ctx))
	var refused *PeerError
	require.ErrorAs(t, b.Destroy(ctx), &refused)
	require.NoError(t, a.Destroy(ctx))
	require.NoError(t, local.Deregister(ctx))
}

func TestTap(t *testing.T) {
	testenv.Need(t, testenv.Root)
	forEachKernel(t, Config{Data: OnTap, MTU: 9000}, func(ctx context.Context, t *testing.T, g *Guest) {
		r, err := g.Run(ctx, "ping -c 1 -s 8000 "+HostIPv4.Addr().String()+" && ping -c 1 -6 "+HostIPv6.Addr().String()+"; ibv_devinfo")
		require.NoError(t, err)
		require.Zero(t, r.Code, r.Stdout+r.Stderr)
		require.Contains(t, r.Stdout, "active_mtu:		4096")

		p, err := g.Start(ctx, "nc -l -p 18515")
		require.NoError(t, err)
		require.NoError(t, g.WaitListening(ctx, 18515))
		require.NoError(t, g.Netns().Do(func() error {
			c, err := net.Dial("tcp", net.JoinHostPort(GuestIPv4.Addr().String(), "18515"))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(c, "over the tap"); err != nil {
				return err
			}
			return c.Close()
		}))
		r, err = p.Wait()
		require.NoError(t, err)
		require.Equal(t, "over the tap", r.Stdout)
		out, err := g.Netns().Run(ctx, "ip", "-br", "addr")
		require.NoError(t, err)
		require.Contains(t, out, HostIPv6.String())
	})
}
