package pingpong

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	clientEnd = capturedEndpoint
	serverEnd = Endpoint{QPN: 0x12, PSN: 0xffffff, GID: capturedEndpoint.GID}
)

func connected(Endpoint) error { return nil }

func TestHandshake(t *testing.T) {
	a, b := net.Pipe()
	heard := make(chan Endpoint, 1)
	go func() {
		remote, err := offer(t.Context(), a, clientEnd)
		if err != nil {
			t.Error(err)
		}
		heard <- remote
	}()
	remote, err := answer(t.Context(), b, serverEnd, connected)
	require.NoError(t, err)
	require.Equal(t, clientEnd, remote)
	require.Equal(t, serverEnd, <-heard)
}

// The tool reads each message by one call, and takes no less than all of it.
func TestClientWritesEachMessageAtOnce(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		if _, err := offer(t.Context(), a, clientEnd); err != nil {
			t.Error(err)
		}
	}()
	buf := make([]byte, 100)
	n, err := b.Read(buf)
	require.NoError(t, err)
	require.Equal(t, captured, string(buf[:n]))
	answer := serverEnd.message()
	_, err = b.Write(answer[:])
	require.NoError(t, err)
	n, err = b.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "done\x00", string(buf[:n]))
	_, err = b.Read(buf)
	require.ErrorIs(t, err, io.EOF)
}

// The server's queue pair must be ready when the client hears of it.
func TestServerConnectsBeforeItAnswers(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		m := clientEnd.message()
		_, _ = a.Write(m[:])
	}()
	refused := errors.New("no such path")
	_, err := answer(t.Context(), b, serverEnd, func(Endpoint) error { return refused })
	require.ErrorIs(t, err, refused)
	n, _ := a.Read(make([]byte, 100))
	require.Zero(t, n, "the client heard of a queue pair that is not connected")
}

func TestHostileHandshakes(t *testing.T) {
	for _, c := range []struct{ name, sends, says string }{
		{"nothing", "", "after 0 of 52 bytes"},
		{"a piece", captured[:51], "after 51 of 52 bytes"},
		{"garbage", "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and so on\r\n\r\n", "is not the LLLL:QQQQQQ:PPPPPP:GID"},
		{"no end", captured, "after 0 of 5 bytes"},
		{"another end", captured + "DONE!", "where the client ends the exchange"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := tcpPair(t)
			_, err := io.WriteString(a, c.sends)
			require.NoError(t, err)
			require.NoError(t, a.CloseWrite())
			_, err = answer(t.Context(), b, serverEnd, connected)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, a.LocalAddr().String(), "the error names the peer")
		})
	}
}

// A peer that floods is read no further than the exchange goes.
func TestHandshakeReadsNoMoreThanItsBytes(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		m := clientEnd.message()
		_, _ = a.Write(m[:])
		_, _ = io.CopyN(io.Discard, a, int64(messageLen))
		n, _ := a.Write(append([]byte(done), make([]byte, 1<<20)...))
		if n != len(done) {
			t.Errorf("the server read %d bytes after its answer", n)
		}
		a.Close()
	}()
	_, err := answer(t.Context(), b, serverEnd, connected)
	require.NoError(t, err)
}

func TestCancelEndsHandshake(t *testing.T) {
	_, b := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := answer(ctx, b, serverEnd, connected)
	require.ErrorIs(t, err, context.Canceled)
}

// tcpPair returns the two ends of a TCP connection.
func tcpPair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer ln.Close()
	a, err = net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	b, err = ln.AcceptTCP()
	require.NoError(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}
