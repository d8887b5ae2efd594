//go:build linux

package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

// Result is how a script in the guest ended and what it printed.
type Result struct {
	Stdout, Stderr string
	Code           int // exit status; -1 if a signal ended the shell
	Signal         int // that signal, or 0
}

// Run runs a /bin/sh script in the guest and waits for its end. The error says
// that the script could not be run or watched to its end, not that it failed:
// see Result.Code. When the context ends, the script is killed, and the Result
// holds what it had printed.
func (g *Guest) Run(ctx context.Context, script string) (Result, error) {
	p, err := g.Start(ctx, script)
	if err != nil {
		return Result{}, err
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	r, err := p.Wait()
	if ctx.Err() != nil {
		err = fmt.Errorf("guest: script %q: %w", script, ctx.Err())
	}
	return r, err
}

// Proc is a script running in the guest. Its methods are safe for concurrent
// use. The caller ends it by Wait or Kill.
type Proc struct {
	conn *agentConn
	done chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something was printed
	stdout  bytes.Buffer
	stderr  bytes.Buffer
	result  Result
	err     error
}

// Start starts a /bin/sh script in the guest, in a process group of its own,
// and returns at once. The context bounds the start only. When the script's
// shell has ended, what it left in the background goes on without an output.
func (g *Guest) Start(ctx context.Context, script string) (*Proc, error) {
	a, err := g.control.open(ctx, agentproto.Request{Op: agentproto.OpRun, Script: script})
	if err != nil {
		return nil, err
	}
	p := &Proc{conn: a, done: make(chan struct{}), changed: make(chan struct{})}
	go p.collect()
	return p, nil
}

// collect reads the script's frames to the last one.
func (p *Proc) collect() {
	defer close(p.done)
	defer p.conn.Close()
	for {
		kind, b, err := agentproto.ReadFrame(p.conn)
		p.mu.Lock()
		var x agentproto.Exit
		switch {
		case err != nil:
			p.err = fmt.Errorf("guest: lost the script: %w", err)
		case kind == agentproto.FrameStdout:
			p.stdout.Write(b)
		case kind == agentproto.FrameStderr:
			p.stderr.Write(b)
		case kind == agentproto.FrameExit:
			if err = json.Unmarshal(b, &x); err == nil && x.Error != "" {
				err = fmt.Errorf("guest: cannot run scripts: %s", x.Error)
			}
			p.err = err
			p.result.Code, p.result.Signal = x.Code, x.Signal
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil || kind == agentproto.FrameExit {
			return
		}
	}
}

// Wait waits for the script's end. It may be called several times.
func (p *Proc) Wait() (Result, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.result
	r.Stdout, r.Stderr = p.stdout.String(), p.stderr.String()
	return r, p.err
}

// Done is closed when the script has ended.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Stdout returns what the script has printed so far.
func (p *Proc) Stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// Stderr returns what the script has written to standard error so far.
func (p *Proc) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// WaitOutput waits until match is true of what the script has printed, for
// instance until a server says that it is ready. It fails when the script or
// the context ends first.
func (p *Proc) WaitOutput(ctx context.Context, match func(stdout, stderr string) bool) error {
	for {
		p.mu.Lock()
		out, errOut, changed := p.stdout.String(), p.stderr.String(), p.changed
		p.mu.Unlock()
		if match(out, errOut) {
			return nil
		}
		select {
		case <-changed:
			continue
		default:
		}
		select {
		case <-changed:
		case <-p.done:
			if match(p.Stdout(), p.Stderr()) {
				return nil
			}
			return fmt.Errorf("guest: the script ended before it printed what was waited for\n%s\n%s", tail(out, 20), tail(errOut, 20))
		case <-ctx.Done():
			return fmt.Errorf("guest: waiting for output: %w\n%s\n%s", ctx.Err(), tail(out, 20), tail(errOut, 20))
		}
	}
}

// Signal sends a signal to the script's process group. A script that has ended
// ignores it.
func (p *Proc) Signal(s syscall.Signal) error {
	_, err := p.conn.Write([]byte{byte(s)})
	select {
	case <-p.done:
		return nil
	default:
		return err
	}
}

// Kill ends the script's process group at once. Wait then returns soon.
func (p *Proc) Kill() {
	// An error means that the connection has ended, and with it the script.
	_ = p.Signal(syscall.SIGKILL)
}

// Put stores data as a file in the guest.
func (g *Guest) Put(ctx context.Context, path string, data []byte, perm os.FileMode) error {
	a, err := g.control.open(ctx, agentproto.Request{Op: agentproto.OpPut, Path: path, Mode: uint32(perm.Perm()), Size: int64(len(data))})
	if err != nil {
		return err
	}
	defer a.Close()
	stop := context.AfterFunc(ctx, func() { a.Close() })
	defer stop()
	if _, err := a.Write(data); err != nil {
		return fmt.Errorf("guest: put %s: %w", path, err)
	}
	if err := g.control.reply(ctx, a); err != nil {
		return fmt.Errorf("guest: put %s: %w", path, err)
	}
	return nil
}
