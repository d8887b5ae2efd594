//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

// relay connects to a TCP port of the guest and carries bytes both ways until
// both directions have ended.
func relay(c *net.TCPConn, r *bufio.Reader, q agentproto.Request) error {
	// Looking for the listener instead of knocking: a server that takes only
	// one connection must not lose it to a probe.
	if err := waitListening(q.Port, time.Duration(q.WaitMS)*time.Millisecond); err != nil {
		return reply(c, err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(q.Port))))
	if err := reply(c, err); err != nil {
		return err
	}
	if err != nil {
		return nil
	}
	defer conn.Close()
	d := conn.(*net.TCPConn)
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(d, r)
		d.CloseWrite()
		done <- err
	}()
	_, err = io.Copy(c, d)
	c.CloseWrite()
	if werr := <-done; err == nil {
		err = werr
	}
	return err
}

// waitListening waits until something in the guest listens on a TCP port.
func waitListening(port uint16, wait time.Duration) error {
	end := time.Now().Add(wait)
	for {
		ok, err := listening(port)
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("nothing listened on the guest's TCP port %d within %v", port, wait)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// listening looks for a listener (state 0A) in the kernel's TCP tables.
func listening(port uint16) (bool, error) {
	suffix := fmt.Appendf(nil, ":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return false, err
		}
		for _, line := range bytes.Split(b, []byte("\n")) {
			f := bytes.Fields(line)
			if len(f) > 3 && bytes.HasSuffix(f[1], suffix) && string(f[3]) == "0A" {
				return true, nil
			}
		}
	}
	return false, nil
}

// put stores a file sent by the harness.
func put(r io.Reader, q agentproto.Request) error {
	f, err := os.OpenFile(q.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(q.Mode))
	if err != nil {
		// Take the bytes all the same, so that the reply finds a reader.
		io.CopyN(io.Discard, r, q.Size)
		return err
	}
	if _, err := io.CopyN(f, r, q.Size); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
