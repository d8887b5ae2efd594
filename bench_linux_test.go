package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// benchPair is two connected QPs over the loopback interface, in one process.
func benchPair(b *testing.B, opts ...roce.Option) (client, server *end) {
	b.Helper()
	ends := [2]*end{}
	for i := range ends {
		dev, err := roce.Open(loopback(b), opts...)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, dev.Close()) })
		e := &end{t: b, dev: dev}
		e.pd, err = dev.AllocPD()
		require.NoError(b, err)
		e.cq, err = dev.CreateCQ(256)
		require.NoError(b, err)
		e.mr, err = e.pd.RegMR(make([]byte, 1<<20), allRights)
		require.NoError(b, err)
		e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
		require.NoError(b, err)
		ends[i] = e
	}
	require.NoError(b, ends[0].qp.Connect(ends[1].qp.Info(), roce.WithRetry(20, 7, 7)))
	require.NoError(b, ends[1].qp.Connect(ends[0].qp.Info(), roce.WithRetry(20, 7, 7)))
	return ends[0], ends[1]
}

// BenchmarkWrite writes messages, 64 under way, and waits for completions.
func BenchmarkWrite(b *testing.B) {
	for name, n := range map[string]int{"64B": 64, "4KiB": 4 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			client, server := benchPair(b)
			remote := server.mr.Remote()
			wr := roce.SendWR{
				Op: roce.OpWrite, SGE: client.mr.SGE(0, n), Flags: roce.Signaled,
				RemoteAddr: remote.Addr, RKey: remote.Key,
			}
			out := make([]roce.WC, 64)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			posted, done := 0, 0
			for b.Loop() {
				client.send(wr)
				for posted++; posted-done >= len(out); {
					k, err := client.cq.Wait(b.Context(), out)
					require.NoError(b, err)
					done += k
				}
			}
			for done < posted {
				k, err := client.cq.Wait(b.Context(), out)
				require.NoError(b, err)
				done += k
			}
		})
	}
}

// BenchmarkPingPong sends 64 bytes forth and back; one operation is a round trip.
func BenchmarkPingPong(b *testing.B) {
	for name, take := range map[string]func(e *end, out []roce.WC) int{
		"poll": func(e *end, out []roce.WC) int { return e.cq.Poll(out) },
		"wait": func(e *end, out []roce.WC) int {
			n, _ := e.cq.Wait(e.t.Context(), out)
			return n
		},
	} {
		b.Run(name, func(b *testing.B) {
			client, server := benchPair(b)
			go func() { // until the device closes: then nothing comes any more
				server.recv(1, 0, 64)
				for echo(server, take) {
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				client.recv(1, 0, 64)
				client.send(roce.SendWR{Op: roce.OpSend, SGE: client.mr.SGE(64, 64)})
				awaitRecv(client, take)
			}
			client.send(roce.SendWR{Op: roce.OpSend}) // empty: the end
		})
	}
}

// awaitRecv returns the length of the next message.
func awaitRecv(e *end, take func(*end, []roce.WC) int) uint32 {
	var out [1]roce.WC
	for take(e, out[:]) == 0 {
	}
	return out[0].ByteLen
}

// echo answers one message, unless it is empty.
func echo(e *end, take func(*end, []roce.WC) int) bool {
	if awaitRecv(e, take) == 0 {
		return false
	}
	e.recv(1, 0, 64)
	e.send(roce.SendWR{Op: roce.OpSend, SGE: e.mr.SGE(64, 64)})
	return true
}
