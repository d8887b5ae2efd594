package pingpong

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// handshakeTimeout bounds the exchange with a peer that is connected by TCP, but
// says nothing. The tool itself would wait for ever.
const handshakeTimeout = 30 * time.Second

// done ends the exchange: the client has heard the server.
const done = "done\x00"

// offer is the client's side of the exchange: it tells the server of the local end
// and learns of the remote one, whose queue pair is then connected. Each message is
// one write, since the tool reads each by one call and takes no less.
func offer(ctx context.Context, conn net.Conn, local Endpoint) (remote Endpoint, err error) {
	err = converse(ctx, conn, func() error {
		if err := send(conn, local); err != nil {
			return err
		}
		if remote, err = receive(conn); err != nil {
			return err
		}
		_, err := io.WriteString(conn, done)
		return err
	})
	return remote, err
}

// answer is the server's side of the exchange. It connects the queue pair before it
// answers, so that the client's first request finds it ready.
func answer(ctx context.Context, conn net.Conn, local Endpoint, connect func(remote Endpoint) error) (remote Endpoint, err error) {
	err = converse(ctx, conn, func() error {
		if remote, err = receive(conn); err != nil {
			return err
		}
		if err := connect(remote); err != nil {
			return err
		}
		if err := send(conn, local); err != nil {
			return err
		}
		return receiveDone(conn)
	})
	return remote, err
}

// converse runs the exchange f within its time, and closes the connection, as the
// tool does.
func converse(ctx context.Context, conn net.Conn, f func() error) error {
	defer conn.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout,
		fmt.Errorf("it said nothing for %v; is it an ibv_rc_pingpong or a roci pingpong?", handshakeTimeout))
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err := f()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("exchange with %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

func send(conn net.Conn, e Endpoint) error {
	m := e.message()
	_, err := conn.Write(m[:])
	return err
}

func receive(conn net.Conn) (Endpoint, error) {
	var m [messageLen]byte
	n, err := io.ReadFull(conn, m[:])
	if err != nil {
		return Endpoint{}, closedAfter(n, messageLen, err)
	}
	return parseMessage(m)
}

func receiveDone(conn net.Conn) error {
	var m [len(done)]byte
	n, err := io.ReadFull(conn, m[:])
	if err != nil {
		return closedAfter(n, len(done), err)
	}
	if string(m[:]) != done {
		return fmt.Errorf("%q came where the client ends the exchange with %q", m[:], done)
	}
	return nil
}

// closedAfter says how far a peer came that closed the connection early.
func closedAfter(n, want int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the peer closed the connection after %d of %d bytes: it gave up, and says why itself", n, want)
	}
	return err
}
