package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// An interrupt ends the command also while it waits for its scenario, as when that comes
// from a terminal.
func TestInterruptWhileReading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario")
	require.NoError(t, unix.Mkfifo(file, 0o600))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{runRoci + "=congestion --file " + file}
	require.NoError(t, cmd.Start())
	w, err := os.OpenFile(file, os.O_WRONLY, 0) // waits for the reader
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}
