// Package examples_test runs the examples as a reader would, each end in a process
// of its own.
package examples_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// host is where a process is started.
type host struct {
	addr  string             // for the server
	enter func(t *testing.T) // nil: here
}

// loopback is two addresses of this host.
func loopback(*testing.T) (server, client host) {
	return host{addr: "127.66.0.1"}, host{}
}

// namespaces is two network namespaces with a veth pair between them.
func namespaces(t *testing.T) (server, client host) {
	testenv.Need(t, testenv.Root, testenv.Netns)
	runtime.LockOSThread()
	outside := currentNamespace(t)
	t.Cleanup(func() {
		require.NoError(t, unix.Setns(outside, unix.CLONE_NEWNET))
		runtime.UnlockOSThread()
	})
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	nsServer := currentNamespace(t)
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	nsClient := currentNamespace(t)

	require.NoError(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "client"}, PeerName: "server", PeerNamespace: netlink.NsFd(nsServer),
	}))
	addAddress(t, "client", "10.66.0.2/24")
	require.NoError(t, unix.Setns(nsServer, unix.CLONE_NEWNET))
	addAddress(t, "server", "10.66.0.1/24")

	in := func(ns int) func(*testing.T) {
		return func(t *testing.T) { require.NoError(t, unix.Setns(ns, unix.CLONE_NEWNET)) }
	}
	return host{"10.66.0.1", in(nsServer)}, host{enter: in(nsClient)}
}

func currentNamespace(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func addAddress(t *testing.T, name, prefix string) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	require.NoError(t, netns.AddAddress(l, prefix))
}

// process is a running example.
type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// start runs a program on a host. What hangs is killed when the test ends.
func start(t *testing.T, h host, program string, args ...string) *process {
	t.Helper()
	if h.enter != nil {
		h.enter(t)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &process{cmd, bufio.NewReader(out)}
}

// rest is what the process prints up to its end, which must be a success.
func (p *process) rest(t *testing.T) string {
	t.Helper()
	out, err := io.ReadAll(p.out)
	require.NoError(t, err)
	require.NoError(t, p.cmd.Wait())
	return string(out)
}

// play runs both ends of an example and returns what they print.
func play(t *testing.T, program string, server, client host, clientArgs ...string) (atServer, atClient string) {
	t.Helper()
	s := start(t, server, program, "-listen", server.addr+":0")
	line, err := s.out.ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	c := start(t, client, program, append([]string{"-connect", address}, clientArgs...)...)
	return s.rest(t), c.rest(t)
}

func build(t *testing.T, example string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), example)
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./"+example).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// On one host without privileges, and from one namespace to another.
var places = map[string]func(*testing.T) (server, client host){"loopback": loopback, "namespaces": namespaces}

func TestWriteArrives(t *testing.T) {
	program := build(t, "write")
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			server, client := place(t)
			atServer, atClient := play(t, program, server, client, "-text", "hello from afar")
			require.Equal(t, "found \"hello from afar\" in my memory; the 4080 bytes behind it are still zero: true\n", atServer)
			require.Contains(t, atClient, `wrote "hello from afar" to 0x`)
			require.Contains(t, atClient, " at "+server.addr)
		})
	}
}

func TestPingpongComesBack(t *testing.T) {
	program := build(t, "pingpong")
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			server, client := place(t)
			atServer, atClient := play(t, program, server, client)
			require.Contains(t, atServer, "1000 round trips of 2048 bytes in ")
			require.Contains(t, atClient, "1000 round trips of 2048 bytes in ")
		})
	}
}

// TestMetricsAreServed proves that the example's page is one that Prometheus can read,
// and that it moves on.
func TestMetricsAreServed(t *testing.T) {
	p := start(t, host{}, build(t, "metrics"), "-listen", "127.0.0.1:0", "-from", "127.66.1.1", "-to", "127.66.1.2")
	url, err := p.out.ReadString('\n')
	require.NoError(t, err)
	writes := func() float64 {
		page, err := http.Get(strings.TrimSpace(url))
		require.NoError(t, err)
		defer page.Body.Close()
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(page.Body)
		require.NoError(t, err)
		for _, m := range families["roce_rx_write_requests_total"].GetMetric() {
			if m.GetLabel()[0].GetValue() == "udp 127.66.1.2" {
				return m.GetCounter().GetValue()
			}
		}
		require.Fail(t, "no such metric")
		return 0
	}
	first := writes()
	for writes() == first {
		runtime.Gosched()
	}
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Empty(t, p.rest(t))
}
