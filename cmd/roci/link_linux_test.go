package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// server is roci pingpong as a server on a host.
type server struct {
	said   bytes.Buffer // on stderr; complete when report is
	report chan string
	ended  chan error
}

// serve starts a server, and returns when it listens.
func serve(t *testing.T, h *netns.Host, args string) *server {
	t.Helper()
	s := &server{report: make(chan string, 1), ended: make(chan error, 1)}
	root := newRoot()
	r, w := io.Pipe()
	root.SetOut(w)
	root.SetErr(&s.said)
	root.SetArgs(strings.Fields("pingpong " + args))
	go func() {
		err := h.Do(func() error { return root.ExecuteContext(t.Context()) })
		w.Close()
		s.ended <- err
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() { // it listens when it says its address
		require.NoError(t, <-s.ended)
	}
	go func() {
		var b strings.Builder
		for fmt.Fprintln(&b, lines.Text()); lines.Scan(); {
			fmt.Fprintln(&b, lines.Text())
		}
		s.report <- b.String()
	}()
	return s
}

// The links talk to each other, whether the interface is named or found by an address.
func TestPingpongOverEveryLink(t *testing.T) {
	for _, c := range []struct{ server, client, serverLink, clientLink, said string }{
		{"--link raw --addr 10.9.0.2", "--link udp 10.9.0.2", "raw vb", "udp 10.9.0.1", ""},
		{"--link udp --dev vb", "--link raw 10.9.0.2", "udp 10.9.0.2", "raw va", ""},
		{"--link raw --addr fd09::2", "--link xdp --addr fd09::1 fd09::2", "raw vb", "xdp va, native, copy", "xdp va: XDP native, copy, multi-buffer, queues [0]; no zero-copy: "},
		{"--link xdp:native --dev vb", "--link raw --ib-dev va -g 1 10.9.0.2", "xdp vb, native, copy", "raw va", ""},
		{"--link xdp:generic --dev vb", "--link xdp:copy --dev va 10.9.0.2", "xdp vb, generic, copy", "xdp va, native, copy", ""},
		{"--link auto:bandwidth --dev vb", "--link auto 10.9.0.2", "udp 10.9.0.2", "xdp va, native, copy", "chose xdp va, native, copy: "},
	} {
		t.Run(c.server+" and "+c.client, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			const load = " -c -n 100 -s 65536 -m 4096"
			srv := serve(t, s.B, c.server+load)
			var out, said bytes.Buffer
			root := newRoot()
			root.SetOut(&out)
			root.SetErr(&said)
			root.SetArgs(strings.Fields("pingpong --json " + c.client + load))
			require.NoError(t, s.A.Do(root.Execute), said.String())
			report := <-srv.report
			require.NoError(t, <-srv.ended, srv.said.String())
			require.Contains(t, report, "  link:           "+c.serverLink+"\n")
			require.Contains(t, report, "\n100 iters in ")
			var result struct {
				Link    string
				Checked int
			}
			require.NoError(t, json.Unmarshal(out.Bytes(), &result))
			require.Equal(t, c.clientLink, result.Link)
			require.Equal(t, 100, result.Checked)
			require.Contains(t, said.String(), c.said)
		})
	}
}

// --link auto tells on stderr what it chose, and why not another.
func TestAutoSaysWhy(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	srv := serve(t, s.B, "--link auto:bandwidth --dev vb -n 1")
	require.Equal(t, `roci: pingpong: chose udp 10.9.0.2: several packets share one trip through the kernel (super-frames), and no privilege is needed
roci: pingpong: not raw: udp is preferred for bandwidth: raw has super-frames too, but costs more per packet, and CAP_NET_RAW
roci: pingpong: not xdp: udp is preferred for bandwidth: with xdp each packet travels for itself
`, srv.said.String())
	require.NoError(t, s.A.Do(func() error { _, err := roci("pingpong", "-n", "1", "10.9.0.2"); return err }))
	require.Contains(t, <-srv.report, "link:           udp 10.9.0.2")
	require.NoError(t, <-srv.ended)
}

// What cannot be opened says why, and what to do.
func TestLinkErrors(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	for args, want := range map[string]string{
		"--link xdp:zerocopy --dev va":   "zero-copy",
		"--link raw --addr 10.9.0.2":     "no network interface has the address 10.9.0.2; there are",
		"--link raw --dev nosuch":        `no network interface "nosuch"`,
		"--link xdp --addr 127.0.0.5":    "it is the loopback interface, where there are no frames to send: use the udp link",
		"--link raw --addr fe80::1%nose": `no network interface "nose"; there are lo, va`,
	} {
		require.NoError(t, s.A.Do(func() error {
			_, err := roci(append([]string{"pingpong"}, strings.Fields(args)...)...)
			require.ErrorContains(t, err, want, args)
			return nil
		}))
	}
}

// runRoci is the environment variable by which the test binary, run again, knows that
// it is roci, with these arguments.
const runRoci = "ROCE_TEST_ROCI"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(runRoci); ok {
		os.Args = append([]string{"roci"}, strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// userCommand is roci to be run by an ordinary user with these capabilities.
func userCommand(t *testing.T, args string, capabilities ...uintptr) *exec.Cmd {
	t.Helper()
	testenv.Need(t, testenv.Root)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{runRoci + "=" + args}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: capabilities,
	}
	return cmd
}

// asUser runs roci on a host as an ordinary user with these capabilities, and returns
// what it printed.
func asUser(t *testing.T, h *netns.Host, args string, capabilities ...uintptr) (string, error) {
	t.Helper()
	cmd := userCommand(t, args, capabilities...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, h.Start(cmd))
	err := cmd.Wait()
	return out.String(), err
}

// Who lacks a privilege is told which, and how to get it.
func TestPrivilegesAreNamed(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	out, err := asUser(t, s.A, "pingpong --link raw --dev va")
	require.Error(t, err)
	require.Contains(t, out, "run as root, or give the program CAP_NET_RAW (`setcap cap_net_raw+ep ")
	for _, caps := range [][]uintptr{{}, {unix.CAP_NET_RAW}, {unix.CAP_NET_ADMIN, unix.CAP_BPF}, {unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}} {
		out, err = asUser(t, s.A, "pingpong --link xdp --dev va", caps...)
		require.Error(t, err)
		require.Contains(t, out, "run roci as root, or give it what xdp needs: setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep ")
	}
}

// The demo of a link says without root what to do, and as root what it runs over.
func TestDemoOfALink(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	out, err := asUser(t, s.A, "demo --link raw --out /dev/null")
	require.Error(t, err)
	require.Contains(t, out, "--link raw: make a network namespace: ")
	require.Contains(t, out, "run it as root (sudo roci demo --link raw), or with --link udp or sim, which need no privileges")

	out, err = roci("demo", "--link", "auto", "--out", filepath.Join(t.TempDir(), "demo.pcapng"))
	require.NoError(t, err, out)
	require.Equal(t, 1, strings.Count(out, "chose xdp va, native, copy: "), "each end tells once what it chose")
	require.Contains(t, out, "network   auto: a veth pair, by xdp va, native, copy\n")
	require.Contains(t, out, "✓ Every byte was right")
}

// The capabilities that the help names are enough.
func TestPrivilegesSuffice(t *testing.T) {
	for link, caps := range map[string][]uintptr{
		"udp": {},
		"raw": {unix.CAP_NET_RAW},
		"xdp": {unix.CAP_NET_RAW, unix.CAP_NET_ADMIN, unix.CAP_BPF, unix.CAP_IPC_LOCK},
	} {
		t.Run(link, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			srv := serve(t, s.B, "--dev vb -c -n 20 -m 4096")
			out, err := asUser(t, s.A, "pingpong -c -n 20 -m 4096 10.9.0.2 --link "+link, caps...)
			require.NoError(t, err, out)
			require.Contains(t, out, "link:           "+link+" ")
			<-srv.report
			require.NoError(t, <-srv.ended)
		})
	}
}
