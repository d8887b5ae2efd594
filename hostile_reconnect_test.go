package roce_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/simnet"
)

// Two queue pairs are reset and connected to each other again, after work of every kind.
// Then all that they said to each other arrives once more: nothing of it is carried out,
// and nothing completes what is under way now.
func TestLatePacketsOfAnOldConnection(t *testing.T) {
	w := simnet.New(1)
	links := map[string]*simnet.Link{"a": w.Link("a", hostAddr), "b": w.Link("b", enemyAddr)}
	p := &pair{t: t, world: w, a: newEndOn(t, w, links["a"], roce.QPConfig{}), b: newEndOn(t, w, links["b"], roce.QPConfig{})}
	connect := func() {
		a, b := p.a.qp.Info(), p.b.qp.Info()
		require.NoError(t, p.a.qp.Connect(b, roce.WithRetry(20, 7, 7)))
		require.NoError(t, p.b.qp.Connect(a, roce.WithRetry(20, 7, 7)))
	}
	there := p.b.mr.Remote()
	work := func() {
		p.a.send(
			roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 3000)},
			roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 3000), RemoteAddr: there.Addr + 4096, RKey: there.Key},
			roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(4096, 3000), RemoteAddr: there.Addr, RKey: there.Key},
			roce.SendWR{Op: roce.OpFetchAdd, SGE: p.a.mr.SGE(8192, 8), RemoteAddr: there.Addr + 8192, RKey: there.Key, Add: 1, Flags: roce.Signaled})
	}
	var old []packet
	recording := true
	w.OnFrame(func(e simnet.FrameEvent) {
		if recording && e.Step == simnet.Sent {
			old = append(old, packet{links[e.From], e.Meta, bytes.Clone(e.Frame)})
		}
	})
	connect()
	p.b.recv(1, 0, 4096)
	work()
	require.NoError(t, p.wait(p.a, 1)[0].Err())
	p.settle()
	recording = false

	for _, q := range []*roce.QP{p.a.qp, p.b.qp} {
		before := q.Info().PSN
		require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
		require.NotEqual(t, before, q.Info().PSN, "the next connection has other PSNs")
	}
	connect()
	p.wait(p.b, 1)
	p.b.recv(2, 0, 4096)
	memory, stats := bytes.Clone(p.b.mr.Bytes()), p.b.qp.Stats()
	for range 3 {
		fire(old...)
	}
	p.settle()
	require.Equal(t, memory, p.b.mr.Bytes())
	require.Equal(t, stats.Sends, p.b.qp.Stats().Sends)
	require.Equal(t, stats.Atomics, p.b.qp.Stats().Atomics)
	require.Equal(t, stats.Writes, p.b.qp.Stats().Writes)
	require.Equal(t, stats.Reads, p.b.qp.Stats().Reads)

	work()
	fire(old...)
	require.NoError(t, p.wait(p.a, 1)[0].Err())
	require.NoError(t, p.wait(p.b, 1)[0].Err())
	require.EqualValues(t, 2, p.b.mr.LoadUint64(8192), "one FetchAdd by each connection")
}

// A region or window is closed when the peer has read it, and then a READ of the peer's
// arrives once more, as networks and impatient adapters do it: that is not answered
// again, and ends no good connection.
func TestLateReadOfAClosedRegion(t *testing.T) {
	for name, end := range map[string]func(s *siege, m *roce.MR, w *roce.MW){
		"region": func(s *siege, m *roce.MR, w *roce.MW) {
			require.NoError(s.t, w.Close())
			require.NoError(s.t, m.Close())
		},
		"window": func(s *siege, _ *roce.MR, w *roce.MW) { require.NoError(s.t, w.Close()) },
		"binding": func(s *siege, _ *roce.MR, w *roce.MW) {
			s.victim.send(roce.SendWR{Op: roce.OpLocalInv, RKey: w.RKey(), Flags: roce.Signaled})
			s.settle()
			require.Equal(s.t, 1, s.succeeded(s.victim))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t)
			w, m := s.victim.window()
			bind := w.Bind(m, 0, 4096, roce.AccessRemoteRead)
			bind.Flags = roce.Signaled
			s.victim.send(bind)
			s.settle()
			require.Equal(t, 1, s.succeeded(s.victim))
			there := w.Remote()
			read := s.ask(bth.RCReadRequest, 0, bthtest.RETH(there.Addr, uint32(there.Key), there.Len))
			read.fire()
			s.settle()
			require.Len(t, s.heard(), 4)
			end(s, m, w)
			fire(read, read)
			s.settle()
			require.Empty(t, s.heard())
			require.Equal(t, roce.StateRTS, s.victim.qp.State())
			s.ask(bth.RCWriteOnly, 4, s.region(0, 8), bthtest.Pattern(8)).fire()
			s.settle()
			require.Equal(t, []string{"RC Acknowledge 4 ACK"}, s.answers())
		})
	}
}
