//go:build linux

// Command agent runs in the guest and does what the harness asks: it runs
// scripts, relays TCP connections and stores files. Usage:
//
//	agent HOST:PORT TOKEN
//
// See package agentproto for the protocol. The agent ends when the harness
// closes the control connection.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: agent HOST:PORT TOKEN")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// serve answers the requests of one control connection until it ends.
func serve(addr, token string) error {
	control, err := connect(addr, agentproto.Hello{Token: token})
	if err != nil {
		return err
	}
	defer control.Close()
	dec := json.NewDecoder(bufio.NewReader(control))
	for {
		var open agentproto.OpenRequest
		if err := dec.Decode(&open); err != nil {
			return err
		}
		go func() {
			c, err := connect(addr, agentproto.Hello{Token: token, ID: open.ID})
			if err != nil {
				fmt.Fprintln(os.Stderr, "agent:", err)
				return
			}
			defer c.Close()
			if err := handle(c); err != nil {
				fmt.Fprintln(os.Stderr, "agent:", err)
			}
		}()
	}
}

func connect(addr string, h agentproto.Hello) (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c).Encode(h); err != nil {
		c.Close()
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// handle does the one request of a connection.
func handle(c *net.TCPConn) error {
	r := bufio.NewReader(c)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var q agentproto.Request
	if err := json.Unmarshal(line, &q); err != nil {
		return err
	}
	switch q.Op {
	case agentproto.OpRun:
		return runScript(c, r, q.Script)
	case agentproto.OpDial:
		return relay(c, r, q)
	case agentproto.OpListening:
		return reply(c, waitListening(q.Port, time.Duration(q.WaitMS)*time.Millisecond))
	case agentproto.OpPut:
		return reply(c, put(r, q))
	}
	return reply(c, fmt.Errorf("unknown operation %q", q.Op))
}

func reply(c net.Conn, err error) error {
	var a agentproto.Reply
	if err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(c).Encode(a)
}
