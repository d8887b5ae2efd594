package pingpong

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/trace"
)

// The two ends' addresses. Any in 127.0.0.0/8 are the loopback's; those of other
// packages' tests differ.
var (
	serverAddr = netip.MustParseAddr("127.77.0.1")
	clientAddr = netip.MustParseAddr("127.77.0.2")
)

func openUDP(a netip.Addr) (link.Link, error) { return udp.Open(a) }

func options() Options {
	return Options{
		Open: openUDP, Size: DefaultSize, MTU: DefaultMTU, RxDepth: DefaultRxDepth, Iters: 50, Check: true,
		timeout: 20,
	}
}

// here runs f at once: on the present thread.
func here(f func() error) error { return f() }

// playBoth runs a server and a client, both with their opens and sockets in
// within, and returns their results. When one fails the other is cancelled.
func playBoth(t *testing.T, within func(func() error) error, srv, cli Options) (*Result, *Result, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return playUntil(ctx, t, within, cancel, srv, cli)
}

// playUntil is playBoth that calls failed when an end fails.
func playUntil(ctx context.Context, t *testing.T, within func(func() error) error, failed func(), srv, cli Options) (*Result, *Result, error) {
	t.Helper()
	var ln net.Listener
	require.NoError(t, within(func() (err error) {
		ln, err = net.Listen("tcp", netip.AddrPortFrom(srv.Addr, 0).String())
		return err
	}))
	defer ln.Close()
	type outcome struct {
		r   *Result
		err error
	}
	served := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = within(func() error {
			o.r, o.err = Serve(ctx, ln, srv)
			return o.err
		})
		if o.err != nil {
			failed()
		}
		served <- o
	}()
	var r *Result
	err := within(func() (err error) {
		r, err = Dial(ctx, ln.Addr().String(), cli)
		return err
	})
	if err != nil {
		failed()
	}
	s := <-served
	err = errors.Join(err, s.err)
	if errors.Is(err, udp.ErrPortInUse) {
		t.Skip(err)
	}
	return s.r, r, err
}

func requirePlayed(t *testing.T, within func(func() error) error, srv, cli Options) {
	t.Helper()
	s, c, err := playBoth(t, within, srv, cli)
	require.NoError(t, err)
	require.Equal(t, s.Local, c.Remote)
	require.Equal(t, c.Local, s.Remote)
	require.Equal(t, srv.Addr.String(), c.Remote.GID.Addr().String())
	require.Equal(t, 1, s.Checked)
	require.Equal(t, cli.Iters, c.Checked)
}

func TestAgainstItself(t *testing.T) {
	for _, mtu := range []int{256, 512, 1024, 2048, 4096} {
		for _, size := range []int{1, 1000, 4096, 65536} {
			for _, events := range []bool{false, true} {
				t.Run(fmt.Sprintf("MTU %d size %d events %v", mtu, size, events), func(t *testing.T) {
					o := options()
					o.MTU, o.Size, o.Events = mtu, size, events
					srv, cli := o, o
					srv.Addr, cli.Addr = serverAddr, clientAddr
					requirePlayed(t, here, srv, cli)
				})
			}
		}
	}
}

// Ends with other settings that need not agree.
func TestAgainstItselfOddly(t *testing.T) {
	for name, change := range map[string]func(srv, cli *Options){
		"one polls, one sleeps": func(srv, _ *Options) { srv.Events = true },
		"one receive posted":    func(srv, cli *Options) { srv.RxDepth, cli.RxDepth = 1, 1 },
		"two receives posted":   func(srv, cli *Options) { srv.RxDepth, cli.RxDepth = 2, 2 },
		"one message":           func(srv, cli *Options) { srv.Iters, cli.Iters = 1, 1 },
		"no bytes":              func(srv, cli *Options) { srv.Size, cli.Size = 0, 0 },
		"bytes of three pages":  func(srv, cli *Options) { srv.Size, cli.Size = 3*pageSize+1, 3*pageSize+1 },
	} {
		t.Run(name, func(t *testing.T) {
			srv, cli := options(), options()
			srv.Addr, cli.Addr = serverAddr, clientAddr
			change(&srv, &cli)
			requirePlayed(t, here, srv, cli)
		})
	}
}

func TestAgainstItselfOverIPv6(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	ns := newNamespace(t, "fd00::1/64", "fd00::2/64")
	for _, mtu := range []int{256, 4096} {
		for _, events := range []bool{false, true} {
			srv := options()
			srv.MTU, srv.Events, srv.Size = mtu, events, 65536
			cli := srv
			srv.Addr, cli.Addr = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
			requirePlayed(t, ns, srv, cli)
		}
	}
}

// Without an address each end uses that of its TCP connection.
func TestAddressOfTheConnectionIsTheDefault(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	ns := newNamespace(t)
	srv, cli := options(), options()
	var ln net.Listener
	require.NoError(t, ns(func() (err error) {
		ln, err = net.Listen("tcp", ":0")
		return err
	}))
	defer ln.Close()
	served := make(chan error, 1)
	go func() {
		served <- ns(func() error {
			_, err := Serve(t.Context(), ln, srv)
			return err
		})
	}()
	require.NoError(t, ns(func() error {
		r, err := Dial(t.Context(), fmt.Sprintf("127.77.0.1:%d", ln.Addr().(*net.TCPAddr).Port), cli)
		if err == nil && (r.Local.GID != gid("127.0.0.1") || r.Remote.GID != gid("127.77.0.1")) {
			err = fmt.Errorf("the ends used %v and %v", r.Local.GID, r.Remote.GID)
		}
		return err
	}))
	require.NoError(t, <-served)
}

// A client without -c sends what the tool sends, and a server with -c tells.
func TestServerTellsOfAClientWithoutCheck(t *testing.T) {
	srv, cli := options(), options()
	srv.Addr, cli.Addr = serverAddr, clientAddr
	cli.Check = false
	_, _, err := playBoth(t, here, srv, cli)
	require.ErrorContains(t, err, "invalid data in page 0: its first byte is 0x7b")
}

func TestEndsOfDifferentSizeSaySo(t *testing.T) {
	srv, cli := options(), options()
	srv.Addr, cli.Addr = serverAddr, clientAddr
	srv.Size = 8192
	_, _, err := playBoth(t, here, srv, cli)
	require.ErrorContains(t, err, "message 1 has 4096 bytes where 8192 were agreed")

	// Now the message does not fit the server's receive, so both ends fail by themselves.
	srv.Size = 100
	_, _, err = playUntil(t.Context(), t, here, func() {}, srv, cli)
	var refused *roce.RemoteError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "at 127.77.0.1, after 0 of 50 sends and 0 of 50 receives")
	require.ErrorContains(t, err, "remote invalid request error")
}

func TestFamiliesMustAgree(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		m := Endpoint{QPN: 5, GID: gid("fd00::1")}.message()
		_, _ = a.Write(m[:])
		_, _ = io.Copy(io.Discard, a)
	}()
	o := options()
	o.Addr = serverAddr
	_, err := Serve(t.Context(), oneConn{b}, o)
	if errors.Is(err, udp.ErrPortInUse) {
		t.Skip(err)
	}
	require.ErrorContains(t, err, "fd00::1")
	require.ErrorContains(t, err, "family")
}

// oneConn is a listener that has one connection.
type oneConn struct{ net.Conn }

func (l oneConn) Accept() (net.Conn, error) { return l.Conn, nil }
func (l oneConn) Addr() net.Addr            { return l.LocalAddr() }

func TestClientWithoutServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ln.Close()
	_, err = Dial(t.Context(), ln.Addr().String(), options())
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, "is the server running")
}

func TestCancelEndsAServerThatNobodyCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cancel()
	_, err = Serve(ctx, ln, options())
	require.ErrorIs(t, err, context.Canceled)
}

// A peer that is there for the exchange only: both ways of waiting end by cancel.
func TestCancelEndsWaitingForMessages(t *testing.T) {
	for _, events := range []bool{false, true} {
		a, b := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		offered := make(chan error, 1)
		go func() {
			_, err := offer(ctx, a, Endpoint{QPN: 5, GID: gid("127.77.0.2")})
			cancel()
			offered <- err
		}()
		o := options()
		o.Addr, o.Events = serverAddr, events
		_, err := Serve(ctx, oneConn{b}, o)
		if errors.Is(err, udp.ErrPortInUse) {
			t.Skip(err)
		}
		require.NoError(t, <-offered)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "0 of 50 receives")
	}
}

func TestRecordingHasEveryMessage(t *testing.T) {
	var capture bytes.Buffer
	rec := trace.NewRecorder(trace.DefaultBuffer, trace.NewJSONLines(&capture, time.Time{}))
	srv, cli := options(), options()
	srv.Addr, cli.Addr = serverAddr, clientAddr
	cli.Recorder = rec
	requirePlayed(t, here, srv, cli)
	require.NoError(t, rec.Close())
	require.GreaterOrEqual(t, strings.Count(capture.String(), "SEND"), 2*cli.Iters*(cli.Size/cli.MTU))
	require.Contains(t, capture.String(), "client, udp 127.77.0.2")
}

func TestReportComesAsTheRunGoes(t *testing.T) {
	var out bytes.Buffer
	srv, cli := options(), options()
	srv.Addr, cli.Addr = serverAddr, clientAddr
	cli.Out = &out
	s, c, err := playBoth(t, here, srv, cli)
	require.NoError(t, err)
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 6)
	require.Equal(t, "  local address:  "+s.Remote.String(), lines[0])
	require.Equal(t, "  remote address: "+c.Remote.String(), lines[1])
	require.Equal(t, "  link:           udp 127.77.0.2", lines[2])
	require.Contains(t, lines[3], "409600 bytes in ")
	require.Contains(t, lines[4], "50 iters in ")
}

func TestOptionsOutOfRange(t *testing.T) {
	for says, change := range map[string]func(*Options){
		"--size -1":    func(o *Options) { o.Size = -1 },
		"--size 10737": func(o *Options) { o.Size = MaxSize + 1 },
		"--mtu 1500":   func(o *Options) { o.MTU = 1500 },
		"--rx-depth 0": func(o *Options) { o.RxDepth = 0 },
		"--iters 0":    func(o *Options) { o.Iters = 0 },
	} {
		o := options()
		change(&o)
		_, err := Dial(t.Context(), "127.0.0.1:1", o)
		require.ErrorContains(t, err, says)
	}
}

// newNamespace makes a network namespace whose loopback has the addresses, and
// returns how to run something on a thread in it.
func newNamespace(t *testing.T, prefixes ...string) func(func() error) error {
	t.Helper()
	type made struct {
		fd  int
		err error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		fd, err := makeNamespace(prefixes)
		done <- made{fd, err}
	}()
	ns := <-done
	require.NoError(t, ns.err)
	t.Cleanup(func() { unix.Close(ns.fd) })
	return func(f func() error) error {
		result := make(chan error)
		go func() {
			runtime.LockOSThread()
			if err := unix.Setns(ns.fd, unix.CLONE_NEWNET); err != nil {
				result <- err
				return
			}
			result <- f()
		}()
		return <-result
	}
}

func makeNamespace(prefixes []string) (fd int, err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return -1, err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return -1, err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return -1, err
	}
	for _, p := range prefixes {
		if err := netns.AddAddress(lo, p); err != nil {
			return -1, err
		}
	}
	return unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// TestCountedAlsoWhenItFails proves that a run which ends with an error tells what its
// device counted.
func TestCountedAlsoWhenItFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options()
	o.Addr = serverAddr
	told := 0
	o.Counted = func(c roce.Counters) {
		told++
		require.EqualValues(t, o.RxDepth, c[roce.CounterRespCQEFlushError], "the receives that were posted")
	}
	_, err = Serve(ctx, ln, o)
	if errors.Is(err, udp.ErrPortInUse) {
		t.Skip(err)
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, told)
}
