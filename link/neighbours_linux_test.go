package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/netns"
)

// neighbours are the hosts' own connections over the interface that a link uses too:
// a TCP stream that is echoed, and ping. Each block and each request is answered
// before the next, so that every one counts.
type neighbours struct {
	t      *testing.T
	tcp    net.Conn
	ping   *net.IPConn
	rounds atomic.Int64
	lost   int // pings sent again; run's
	ending atomic.Bool
	ended  chan error
}

func startNeighbours(t *testing.T, s *netns.Street) *neighbours {
	t.Helper()
	n := &neighbours{t: t, ended: make(chan error, 1)}
	at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.B.IPv4, 7))
	require.NoError(t, s.B.Do(func() error {
		l, err := net.ListenTCP("tcp4", at)
		if err == nil {
			go echo(l)
		}
		return err
	}))
	require.NoError(t, s.A.Do(func() (err error) {
		if n.tcp, err = net.DialTCP("tcp4", nil, at); err != nil {
			return err
		}
		n.ping, err = net.DialIP("ip4:icmp", nil, &net.IPAddr{IP: s.B.IPv4.AsSlice()})
		return err
	}))
	go func() { n.ended <- n.run() }()
	return n
}

// echo returns what one client sends.
func echo(l net.Listener) {
	defer l.Close()
	if c, err := l.Accept(); err == nil {
		defer c.Close()
		_, _ = io.Copy(c, c) // until the client closes
	}
}

func (n *neighbours) run() error {
	for round := uint16(1); !n.ending.Load(); round++ {
		if err := n.block(round); err != nil {
			return fmt.Errorf("TCP, block %d: %w", round, err)
		}
		if err := n.request(round); err != nil {
			return fmt.Errorf("ping %d: %w", round, err)
		}
		n.rounds.Add(1)
	}
	return nil
}

// block sends 32 KiB and compares what comes back.
func (n *neighbours) block(round uint16) error {
	sent := bytes.Repeat(binary.BigEndian.AppendUint16(nil, round), 16<<10)
	if _, err := n.tcp.Write(sent); err != nil {
		return err
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(n.tcp, got); err != nil {
		return err
	}
	if !bytes.Equal(sent, got) {
		return fmt.Errorf("other bytes came back")
	}
	return nil
}

// request sends an ICMP echo request (RFC 792), every second until its reply comes: unlike
// TCP's, nobody sends it again when the interface has no room for it.
func (n *neighbours) request(round uint16) error {
	const id, tries = 0x1234, 10
	msg := []byte{8, 0, 0, 0, id >> 8, id & 0xff, byte(round >> 8), byte(round)}
	sum := uint32(8<<8) + id + uint32(round)
	binary.BigEndian.PutUint16(msg[2:], ^uint16(sum+sum>>16))
	for range tries {
		if _, err := n.ping.Write(msg); err != nil {
			return err
		}
		err := n.reply(msg)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		n.lost++
	}
	return fmt.Errorf("no reply to %d requests, one a second", tries)
}

// reply waits a second for the reply to an echo request.
func (n *neighbours) reply(msg []byte) error {
	if err := n.ping.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	for reply := make([]byte, 1500); ; {
		got, _, err := n.ping.ReadFrom(reply) // the ICMP message, without IP header
		if err != nil {
			return err
		}
		if got == len(msg) && reply[0] == 0 && bytes.Equal(reply[4:got], msg[4:]) {
			return nil
		}
	}
}

// stop ends the connections, all of which must have gone well.
func (n *neighbours) stop() {
	n.t.Helper()
	n.ending.Store(true)
	require.NoError(n.t, <-n.ended)
	require.NoError(n.t, n.tcp.Close())
	require.NoError(n.t, n.ping.Close())
	require.Positive(n.t, n.rounds.Load())
	n.t.Logf("beside it: %d blocks of 32 KiB by TCP and as many pings, all answered, %d of them when sent again", n.rounds.Load(), n.lost)
}
