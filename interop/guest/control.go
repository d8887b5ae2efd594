//go:build linux

package guest

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rocinante-rdma/roce/interop/guest/internal/agentproto"
)

// errGone is the error of all control operations after the agent's connection
// has ended.
var errGone = errors.New("guest: the guest is gone (closed, or its kernel or agent died)")

// control is the harness's end of the agent's protocol. The agent connects to
// a listener on 127.0.0.1, which the guest sees at controlGateway; the random
// token in its kernel's command line tells it from other local programs.
type control struct {
	ln    net.Listener
	token string
	ready chan struct{} // closed when the agent has connected
	gone  chan struct{} // closed when its connection has ended

	mu      sync.Mutex
	conn    net.Conn // the control connection
	nextID  uint64
	waiting map[uint64]chan *agentConn
}

// agentConn is a connection from the agent; its reader may hold bytes that
// came with the first line.
type agentConn struct {
	*net.TCPConn
	r *bufio.Reader
}

func (c *agentConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// listenControl starts to listen for the agent.
func listenControl() (*control, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &control{
		ln: ln, token: rand.Text(),
		ready: make(chan struct{}), gone: make(chan struct{}),
		waiting: map[uint64]chan *agentConn{},
	}
	go c.accept()
	return c, nil
}

func (c *control) port() int { return c.ln.Addr().(*net.TCPAddr).Port }

// accept takes the agent's connections until the listener is closed.
func (c *control) accept() {
	for {
		conn, err := c.ln.Accept()
		if err != nil {
			return
		}
		go c.greet(&agentConn{conn.(*net.TCPConn), bufio.NewReader(conn)})
	}
}

// greet reads a connection's first line and hands it to whom it belongs.
func (c *control) greet(a *agentConn) {
	var h agentproto.Hello
	line, err := a.r.ReadSlice('\n') // bounded by the reader's buffer
	if err != nil || json.Unmarshal(line, &h) != nil || subtle.ConstantTimeCompare([]byte(h.Token), []byte(c.token)) != 1 {
		a.Close()
		return
	}
	c.mu.Lock()
	if h.ID == 0 {
		first := c.conn == nil
		if first {
			c.conn = a
		}
		c.mu.Unlock()
		if !first {
			a.Close()
			return
		}
		close(c.ready)
		a.r.ReadByte() // the agent sends nothing more: this returns at its end
		close(c.gone)
		return
	}
	w := c.waiting[h.ID]
	delete(c.waiting, h.ID)
	c.mu.Unlock()
	if w == nil {
		a.Close()
		return
	}
	w <- a
}

// open asks the agent for a connection and sends the request on it. The
// caller owns the connection.
func (c *control) open(ctx context.Context, q agentproto.Request) (*agentConn, error) {
	w := make(chan *agentConn, 1)
	c.mu.Lock()
	c.nextID++
	id := c.nextID
	c.waiting[id] = w
	err := json.NewEncoder(c.conn).Encode(agentproto.OpenRequest{ID: id})
	c.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%w: %w", errGone, err)
	} else {
		select {
		case a := <-w:
			if err := json.NewEncoder(a).Encode(q); err != nil {
				a.Close()
				return nil, fmt.Errorf("%w: %w", errGone, err)
			}
			return a, nil
		case <-c.gone:
			err = errGone
		case <-ctx.Done():
			err = fmt.Errorf("guest: the agent did not open a connection: %w", ctx.Err())
		}
	}
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
	select {
	case a := <-w:
		a.Close()
	default:
	}
	return nil, err
}

// reply waits for the agent's Reply line.
func (c *control) reply(ctx context.Context, a *agentConn) error {
	stop := context.AfterFunc(ctx, func() { a.Close() })
	defer stop()
	line, err := a.r.ReadBytes('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("guest: no reply from the agent: %w", err)
	}
	var r agentproto.Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("guest: the agent's reply %q: %w", line, err)
	}
	if r.Error != "" {
		return errors.New("guest: " + r.Error)
	}
	return nil
}

// close ends the control connection, with which the agent ends.
func (c *control) close() error {
	err := c.ln.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		err = errors.Join(err, c.conn.Close())
	}
	return err
}
