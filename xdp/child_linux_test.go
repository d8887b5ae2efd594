package xdp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
)

// Some tests need a process of their own: the test's binary, which does what these
// variables say instead of running tests.
const (
	childEnv   = "ROCE_XDP_CHILD"     // an interface to open
	memlockEnv = "ROCE_XDP_MEMLOCK"   // soft and hard limit of locked memory, such as "65536 65536"
	dropEnv    = "ROCE_XDP_DROP_CAPS" // numbers of capabilities to do without
)

func TestMain(m *testing.M) {
	if itf := os.Getenv(childEnv); itf != "" {
		os.Exit(child(itf))
	}
	os.Exit(m.Run())
}

// child opens a link, says "open", and keeps it until its input ends.
func child(itf string) (code int) {
	runtime.LockOSThread() // capabilities are a thread's
	if err := restrict(); err != nil {
		fmt.Println(err)
		return 2
	}
	l, err := Open(itf)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := l.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// restrict sets the limits that the environment asks for.
func restrict() error {
	if s := os.Getenv(memlockEnv); s != "" {
		var limit unix.Rlimit
		if _, err := fmt.Sscan(s, &limit.Cur, &limit.Max); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return err
	}
	for _, s := range strings.Fields(os.Getenv(dropEnv)) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		caps[n/32].Effective &^= 1 << (n % 32)
		caps[n/32].Permitted &^= 1 << (n % 32)
	}
	return unix.Capset(&header, &caps[0])
}

// running is a child that runs.
type running struct {
	*exec.Cmd
	input io.Closer
	first string // line that it printed
}

// start starts a child in a host, with more environment, and waits for its first line.
func start(t *testing.T, h *netns.Host, env ...string) *running {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	p := &running{Cmd: exec.Command(binary)}
	p.Env = append(append(os.Environ(), childEnv+"="+h.Interface), env...)
	p.Stderr = os.Stderr
	p.input, err = p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.Start(p.Cmd))
	t.Cleanup(p.kill)
	p.first, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.first = strings.TrimSpace(p.first)
	return p
}

// kill ends the child as a crash would, and waits until it is gone.
func (p *running) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}
