//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

// frames sends a script's output; both streams share the connection.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) send(kind agentproto.FrameKind, p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return agentproto.WriteFrame(f.w, kind, p)
}

// stream is one of a script's output streams.
type stream struct {
	f    *frames
	kind agentproto.FrameKind
}

func (s stream) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += agentproto.MaxFrame {
		if err := s.f.send(s.kind, p[n:min(len(p), n+agentproto.MaxFrame)]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// outputGrace is how long output is still collected after a script's shell has
// ended while something it left running keeps the streams open.
const outputGrace = 200 * time.Millisecond

// runScript runs a script in a process group of its own. Bytes from the
// harness are signals for the group; its hanging up before the shell has ended
// kills the group. What the shell leaves running in the background stays.
func runScript(c net.Conn, r *bufio.Reader, script string) error {
	f := &frames{w: c}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = stream{f, agentproto.FrameStdout}, stream{f, agentproto.FrameStderr}
	cmd.WaitDelay = outputGrace
	if err := cmd.Start(); err != nil {
		return exit(f, agentproto.Exit{Code: -1, Error: err.Error()})
	}
	group := -cmd.Process.Pid
	var ended atomic.Bool // from then on the group's number may be another's
	go func() {
		for {
			sig, err := r.ReadByte()
			if err != nil {
				sig = byte(syscall.SIGKILL)
			}
			if !ended.Load() {
				syscall.Kill(group, syscall.Signal(sig))
			}
			if err != nil {
				return
			}
		}
	}()
	_ = cmd.Wait() // what happened is in ProcessState
	ended.Store(true)
	x := agentproto.Exit{Code: cmd.ProcessState.ExitCode()}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		x.Signal = int(ws.Signal())
	}
	return exit(f, x)
}

func exit(f *frames, x agentproto.Exit) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return f.send(agentproto.FrameExit, b)
}
