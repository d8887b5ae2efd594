//go:build linux

package guest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// helperEnv has this test program boot a guest and wait for its death.
const helperEnv = "ROCE_GUEST_TEST_HELPER"

const helperSays = "QEMU is process "

// A process that is killed takes its QEMU along.
func TestQEMUDiesWithItsOwner(t *testing.T) {
	if os.Getenv(helperEnv) != "" {
		g := BootForTest(t, KernelNewest, Config{})
		fmt.Printf("%s%d\n", helperSays, g.vm.cmd.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin) // until this process is killed, or the test ends
		return
	}
	testenv.Need(t, Feature)
	helper := exec.Command(os.Args[0], "-test.run=^TestQEMUDiesWithItsOwner$")
	helper.Env = append(os.Environ(), helperEnv+"=1", "TMPDIR="+t.TempDir()) // it leaves its folder behind
	out, err := helper.StdoutPipe()
	require.NoError(t, err)
	in, err := helper.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, helper.Start())
	pid := 0
	for sc := bufio.NewScanner(out); pid == 0 && sc.Scan(); {
		if s, ok := strings.CutPrefix(sc.Text(), helperSays); ok {
			pid, err = strconv.Atoi(s)
			require.NoError(t, err)
		}
	}
	require.NoError(t, helper.Process.Kill())
	_ = helper.Wait() // killed
	require.NotZero(t, pid, "the helper booted no guest")
	require.Eventually(t, func() bool { return ended(pid) }, 10*time.Second, 10*time.Millisecond)
}

// ended reports whether a process is gone or waits only to be reaped.
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := bytes.Cut(b, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z")) || bytes.HasPrefix(state, []byte("X"))
}

// Whatever is under way in a guest fails when it ends.
func TestCloseFailsWhatIsUnderWay(t *testing.T) {
	g := BootForTest(t, KernelNewest, Config{})
	ctx := t.Context()
	dir := g.dir
	p, err := g.Start(ctx, "sleep 1000")
	require.NoError(t, err)
	peer, err := g.StartPeer(ctx, PeerConfig{})
	require.NoError(t, err)
	require.NoError(t, g.Close())
	_, err = p.Wait()
	require.ErrorContains(t, err, "lost the script")
	_, err = peer.NewQP(ctx, PeerQPConfig{})
	require.Error(t, err)
	_, err = g.Run(ctx, "true")
	require.ErrorIs(t, err, errGone)
	_, err = g.Wire().ReadFrame(ctx)
	for err == nil { // frames from before
		_, err = g.Wire().ReadFrame(ctx)
	}
	require.ErrorIs(t, err, errWireClosed)
	require.NoDirExists(t, dir)
}
