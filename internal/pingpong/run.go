package pingpong

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/rocinante-rdma/roce/clock"
)

// Dial runs the client against the server at an address (host:port) until all
// messages have gone to and fro. Cancelling ctx ends it.
func Dial(ctx context.Context, address string, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, unknown := errors.AsType[*net.DNSError](err); unknown {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w; is the server running, with this -p?", err)
	}
	defer conn.Close()
	e, err := openEnd(&o, client, o.localAddr(conn))
	if err != nil {
		return nil, err
	}
	return e.run(ctx, func(local Endpoint) (Endpoint, error) {
		remote, err := offer(ctx, conn, local)
		if err != nil {
			return remote, err
		}
		return remote, e.connect(remote)
	})
}

// Serve runs the server for the first client that connects to ln. Cancelling ctx
// ends it, and so does a client that does not speak the protocol. The caller closes
// ln.
func Serve(ctx context.Context, ln net.Listener, o Options) (_ *Result, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var conn net.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	if !o.Addr.IsValid() { // known when the client has come
		if conn, err = accept(ctx, ln); err != nil {
			return nil, err
		}
	}
	e, err := openEnd(&o, server, o.localAddr(conn))
	if err != nil {
		return nil, err
	}
	return e.run(ctx, func(local Endpoint) (remote Endpoint, err error) {
		if conn == nil {
			if conn, err = accept(ctx, ln); err != nil {
				return remote, err
			}
		}
		return answer(ctx, conn, local, e.connect)
	})
}

// run tells and learns of the ends by exchange, which connects the queue pair, and
// does the rest.
func (e *end) run(ctx context.Context, exchange func(local Endpoint) (remote Endpoint, err error)) (_ *Result, err error) {
	defer func() {
		err = errors.Join(err, e.close())
		if e.o.Counted != nil {
			e.o.Counted(e.dev.Counters())
		}
	}()
	out := e.o.Out
	if out == nil {
		out = io.Discard
	}
	local := e.local()
	printLocal(out, local)
	remote, err := exchange(local)
	if err != nil {
		return nil, err
	}
	if e.o.Connected != nil {
		defer e.o.Connected(e.dev, e.qp)()
	}
	printRemote(out, remote)
	printLink(out, e.link)
	v := volley{end: e, ctx: ctx}
	defer v.watch()()
	start := clock.Now()
	if err := v.play(); err != nil {
		return nil, err
	}
	result := &Result{
		Local: local, Remote: remote, Link: e.link, Size: e.o.Size, Iters: e.o.Iters,
		Elapsed: clock.Now().Sub(start), Checked: v.checked, Retransmitted: e.qp.Stats().Retransmitted,
		Counters: e.dev.Counters(),
	}
	if e.o.DCQCN != nil {
		result.Rate = new(e.qp.Rate())
	}
	result.print(out)
	return result, nil
}

// accept waits for one connection.
func accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	conn, err := ln.Accept()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return conn, err
}

// localAddr is the address to use with a peer that is connected by TCP; without an
// address in the options that of the connection.
func (o *Options) localAddr(conn net.Conn) netip.Addr {
	if o.Addr.IsValid() {
		return o.Addr
	}
	tcp := conn.LocalAddr().(*net.TCPAddr)
	return tcp.AddrPort().Addr().Unmap()
}
