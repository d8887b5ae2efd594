package raw

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

const memory = 1 << 20

// end is a device on a link, with one connection and its memory.
type end struct {
	dev  *roce.Device
	conn *roce.Conn
	mr   *roce.MR
}

func newEnd(t *testing.T, l link.Link) *end {
	t.Helper()
	dev, err := roce.Open(l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return newConnOf(t, dev)
}

func newConnOf(t *testing.T, dev *roce.Device) *end {
	t.Helper()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.RegMR(make([]byte, memory), roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessRemoteRead)
	require.NoError(t, err)
	conn, err := pd.CreateConn(roce.ConnConfig{})
	require.NoError(t, err)
	return &end{dev, conn, mr}
}

func connect(t *testing.T, a, b *end) {
	t.Helper()
	patient := roce.WithRetry(18, 7, 7) // the machine may be busy
	require.NoError(t, a.conn.QP().Connect(b.conn.QP().Info(), patient))
	require.NoError(t, b.conn.QP().Connect(a.conn.QP().Info(), patient))
}

// Memory moves between devices on links of this and other kinds, on other hosts and on
// one, and on one device.
func TestDevices(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t *testing.T) (a, b *end)
	}{
		{"raw and raw", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 9000)
			return newEnd(t, w.openA(Addrs(addr("10.9.0.1")))), newEnd(t, w.openB(Addrs(addr("10.9.0.2"))))
		}},
		{"raw and raw, by link-local addresses", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 1500)
			return newEnd(t, w.openA()), newEnd(t, w.openB())
		}},
		{"raw and udp", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 9000)
			return newEnd(t, w.openA(Addrs(addr("10.9.0.1")))), newEnd(t, openUDP(w.b, "10.9.0.2"))
		}},
		{"single frames", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 1500)
			return newEnd(t, w.openA(Addrs(addr("fd09::1")), NoSuperFrames())),
				newEnd(t, w.openB(Addrs(addr("fd09::2")), NoSuperFrames()))
		}},
		{"two raw on one host", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 9000)
			return newEnd(t, w.openA(Addrs(addr("10.9.0.1")))), newEnd(t, w.openA(Addrs(addr("10.9.0.3"))))
		}},
		{"raw and udp on one host", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 9000)
			return newEnd(t, w.openA(Addrs(addr("10.9.0.1")))), newEnd(t, openUDP(w.a, "10.9.0.3"))
		}},
		{"one device", func(t *testing.T) (a, b *end) {
			w := newNetwork(t, 9000)
			a = newEnd(t, w.openA(Addrs(addr("10.9.0.1"))))
			return a, newConnOf(t, a.dev)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := c.open(t)
			connect(t, a, b)
			operate(t, a, b)
			for _, dev := range []*roce.Device{a.dev, b.dev} {
				for _, n := range dev.Stats() {
					require.False(t, strings.Contains(n.Name, "ICRC") && !strings.Contains(n.Name, "inferred"), "%v", dev.Stats())
				}
			}
		})
	}
}

// operate WRITEs all memory to the peer, READs it back, and plays with messages.
func operate(t *testing.T, a, b *end) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for range 8 {
		fillRandom(r, a.mr.Bytes())
		require.NoError(t, a.conn.Write(ctx, a.mr.SGE(0, memory), b.mr.Remote()))
		require.Equal(t, a.mr.Bytes(), b.mr.Bytes())
		fillRandom(r, b.mr.Bytes())
		require.NoError(t, a.conn.Read(ctx, a.mr.SGE(0, memory), b.mr.Remote()))
		require.Equal(t, b.mr.Bytes(), a.mr.Bytes())
	}
	const messages = 500
	echo := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < messages && err == nil; i++ {
			_, err = b.conn.Recv(ctx, b.mr.SGE(0, 64))
			err = errors.Join(err, b.conn.Send(ctx, b.mr.SGE(0, 64)))
		}
		echo <- err
	}()
	for i := range messages {
		fillRandom(r, a.mr.Bytes()[:64])
		require.NoError(t, a.conn.Send(ctx, a.mr.SGE(0, 64)))
		_, err := a.conn.Recv(ctx, a.mr.SGE(64, 64))
		require.NoError(t, err, "message %d", i)
		require.Equal(t, a.mr.Bytes()[:64], a.mr.Bytes()[64:128])
	}
	require.NoError(t, <-echo)
}

func fillRandom(r *rand.Rand, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.NativeEndian.PutUint64(b, r.Uint64())
	}
}
