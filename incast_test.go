package roce_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

const (
	incastSenders = 16
	incastMessage = 64 << 10 // bytes of a WRITE
	incastDepth   = 8        // WRITEs under way, per sender
)

// incastBuffers are the packets that a socket with Linux's default receive buffer holds, by
// their path MTU.
var incastBuffers = map[int]int{1024: 92, 2048: 48, 4096: 25}

// TestIncast has sixteen senders WRITE to one receiver, in front of which no more packets
// can wait than in a default socket. Together they get at least seven tenths through of
// what one of them does alone; and their windows find the buffer, so that little of what they
// send is lost in front of it. docs/recovery.md has the numbers.
func TestIncast(t *testing.T) {
	page, err := os.ReadFile("docs/recovery.md")
	require.NoError(t, err)
	for mtu, packets := range incastBuffers {
		if testenv.Race && mtu < 4096 {
			continue // many small packets take a minute, and no other path than few large ones
		}
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			alone, _ := simulateIncast(t, mtu, packets, 1)
			together, again := simulateIncast(t, mtu, packets, incastSenders)
			t.Logf("alone %.0f MB/s, together %.0f MB/s: %.2f; %.1f %% sent again", alone/1e6, together/1e6, together/alone, 100*again)
			require.Greater(t, together, 0.7*alone)
			require.Less(t, again, 1.0/50, "as many are lost as if the windows did not shrink")
			row := fmt.Sprintf("| %d | %.0f MB/s | %.0f MB/s | %.2f | %.1f %% |", mtu, alone/1e6, together/1e6, together/alone, 100*again)
			require.Contains(t, string(page), row, "docs/recovery.md: see internal/recoverypage/page.md")
		})
	}
}

// simulateIncast returns the bytes per second that n senders get through in a tenth of a
// second of virtual time, and the share of packets that they send again.
func simulateIncast(t *testing.T, mtu, packets, n int) (rate, again float64) {
	t.Helper()
	const duration = 100 * time.Millisecond
	w := simnet.New(1)
	open := func(i int, opts ...simnet.LinkOption) *incastEnd {
		opts = append(opts, simnet.MTU(9000), simnet.Bandwidth(10e9), simnet.Latency(10*time.Microsecond))
		e := newIncastEnd(t, w.Link(fmt.Sprint(i), netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), opts...), roce.Manual())
		w.Attach(e.dev)
		return e
	}
	const headers = 60 // of IPv4, UDP, BTH and RETH, and the ICRC
	receiver := open(1, simnet.Buffer(packets*(mtu+headers)))
	var senders []*incastEnd
	for i := range n {
		s := open(2 + i)
		s.connect(receiver, mtu)
		senders = append(senders, s)
	}
	require.NoError(t, w.RunUntil(func() bool {
		for _, s := range senders {
			s.reap(s.cq.Poll(s.wc[:]))
			s.fill(receiver)
		}
		return w.Now() >= clock.Time(duration)
	}, clock.Never-1))
	var sum roce.QPStats
	done := 0
	for _, s := range senders {
		done += s.done
		sum.Add(s.qp.Stats())
	}
	return float64(done*incastMessage) / duration.Seconds(), float64(sum.Retransmitted) / float64(sum.PacketsSent)
}

// incastEnd is a sender, or the receiver.
type incastEnd struct {
	t            testing.TB
	dev          *roce.Device
	pd           *roce.PD
	cq           *roce.CQ
	mr           *roce.MR
	qp           *roce.QP
	wc           [incastDepth]roce.WC
	posted, done int
}

func newIncastEnd(t testing.TB, l link.Link, opts ...roce.Option) *incastEnd {
	t.Helper()
	dev, err := roce.Open(l, opts...)
	require.NoError(t, err)
	e := &incastEnd{t: t, dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(t, err)
	e.cq, err = dev.CreateCQ(2 * incastDepth)
	require.NoError(t, err)
	e.mr, err = e.pd.RegMR(make([]byte, incastMessage), allRights)
	require.NoError(t, err)
	return e
}

func (e *incastEnd) connect(receiver *incastEnd, mtu int) {
	e.t.Helper()
	peer := receiver.newQP()
	e.qp = e.newQP()
	require.NoError(e.t, e.qp.Connect(peer.Info(), roce.WithPathMTU(mtu)))
	require.NoError(e.t, peer.Connect(e.qp.Info(), roce.WithPathMTU(mtu)))
}

func (e *incastEnd) newQP() *roce.QP {
	e.t.Helper()
	q, err := e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
	require.NoError(e.t, err)
	return q
}

// fill has as many WRITEs under way as may be.
func (e *incastEnd) fill(receiver *incastEnd) {
	r := receiver.mr.Remote()
	wr := roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled, SGE: e.mr.SGE(0, incastMessage), RemoteAddr: r.Addr, RKey: r.Key}
	for ; e.posted-e.done < incastDepth; e.posted++ {
		_, err := e.qp.PostSend(wr)
		must(err)
	}
}

// reap takes n completions out of wc.
func (e *incastEnd) reap(n int) {
	for i := range e.wc[:n] {
		must(e.wc[i].Err())
	}
	e.done += n
}
