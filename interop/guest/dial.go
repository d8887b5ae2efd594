//go:build linux

package guest

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

// Dial connects to a TCP port of the guest, over the control NIC, and waits
// until something listens there, for as long as the context allows (without a
// deadline: 10 s). The context does not bound the connection itself. In the
// guest the connection comes from 127.0.0.1.
//
// For the other direction a program in the guest connects to GatewayIP.
func (g *Guest) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	a, err := g.control.open(ctx, agentproto.Request{Op: agentproto.OpDial, Port: port, WaitMS: waitMS(ctx)})
	if err != nil {
		return nil, err
	}
	if err := g.control.reply(ctx, a); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// WaitListening waits until something in the guest listens on a TCP port, for
// as long as the context allows (without a deadline: 10 s). It does not
// connect.
func (g *Guest) WaitListening(ctx context.Context, port uint16) error {
	a, err := g.control.open(ctx, agentproto.Request{Op: agentproto.OpListening, Port: port, WaitMS: waitMS(ctx)})
	if err != nil {
		return err
	}
	defer a.Close()
	return g.control.reply(ctx, a)
}

// waitMS is how long the agent waits for a listener: a little less than the
// context's time, so that its answer still arrives.
func waitMS(ctx context.Context) int64 {
	wait := 10 * time.Second
	if d, ok := ctx.Deadline(); ok {
		wait = max(0, time.Until(d)-200*time.Millisecond)
	}
	return wait.Milliseconds()
}

// Forward listens on a free port of 127.0.0.1 and carries each connection to a
// TCP port of the guest, as Dial does. It ends when the guest or the returned
// listener is closed. Programs that know only an address to connect to use it.
func (g *Guest) Forward(port uint16) (net.Listener, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("guest: forward to port %d: %w", port, err)
	}
	go func() {
		<-g.control.gone
		ln.Close()
	}()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go g.forward(c.(*net.TCPConn), port)
		}
	}()
	return ln, nil
}

// forward carries one connection. What goes wrong shows on it as its end.
func (g *Guest) forward(c *net.TCPConn, port uint16) {
	defer c.Close()
	conn, err := g.Dial(context.Background(), port)
	if err != nil {
		return
	}
	defer conn.Close()
	d := conn.(*agentConn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(d, c)
		d.CloseWrite()
	}()
	io.Copy(c, d)
	c.CloseWrite()
	<-done
}
