package roce_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// Churn is connections that come and go: each makes everything it needs, does rounds of
// all operations in both directions, and closes it again, sometimes with work under
// way. What they leave behind is what the soaks look for.

// churn is two devices between which connections come and go. A connection belongs to
// one goroutine; several may have their own churns on the same devices.
type churn struct {
	t    *testing.T
	rand *rand.Rand
	// devs are the two sides; do runs what needs to be in a side's network namespace.
	devs [2]*roce.Device
	do   [2]func(func() error) error

	met churnCounts
}

// churnCounts is what happened.
type churnCounts struct {
	connections, abrupt, rounds, operations uint64
	stats                                   roce.QPStats
}

// Kinds of operations, one of each at most in a round and direction.
const (
	churnWrite = 1 << iota
	churnRead
	churnAdd
	churnWriteImm
	churnSend
	churnKinds
)

// Places in a region, one for each operation and side of it.
const (
	churnPlace   = 4 << 10
	churnTarget  = iota * churnPlace // written by the peer
	churnOffer                       // read by the peer
	churnInbox                       // received
	churnCounter                     // added to by the peer
	churnOutbox                      // what is written there
	churnMessage                     // what is sent
	churnGot                         // what was read
	churnWas                         // what the counter was
	churnSize
)

// churnEnd is one end of a connection.
type churnEnd struct {
	pd    *roce.PD
	cq    *roce.CQ
	mr    *roce.MR
	qp    *roce.QP
	added uint64 // to the peer's counter

	kinds, size int // of the round
	sends       int // completions due
	recvs       int
}

// meeting is a connection under way.
type meeting struct {
	churn  *churn
	ends   [2]churnEnd
	rounds int // left
	wcs    []roce.WC
}

// meet opens a connection.
func (c *churn) meet() *meeting {
	m := &meeting{churn: c, rounds: 1 + c.rand.IntN(20), wcs: make([]roce.WC, 16)}
	c.met.connections++
	for side := range m.ends {
		m.ends[side] = c.newEnd(c.devs[side])
	}
	for side := range m.ends {
		require.NoError(c.t, c.do[side](func() error {
			// Patient for two seconds: kernels ask for a lost neighbour again after one.
			return m.ends[side].qp.Connect(m.ends[1-side].qp.Info(), roce.WithPathMTU(1024), roce.WithRetry(16, 7, 7))
		}))
	}
	return m
}

func (c *churn) newEnd(dev *roce.Device) (e churnEnd) {
	var err error
	e.pd, err = dev.AllocPD()
	require.NoError(c.t, err)
	e.cq, err = dev.CreateCQ(64)
	require.NoError(c.t, err)
	e.mr, err = e.pd.RegMR(make([]byte, churnSize), allRights)
	require.NoError(c.t, err)
	e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: 8, RecvDepth: 4, Credits: c.rand.IntN(4) == 0})
	require.NoError(c.t, err)
	return e
}

// place is a piece of the end's region.
func (e *churnEnd) place(off, n int) []byte { return e.mr.Bytes()[off : off+n] }

// begin posts a round.
func (m *meeting) begin() {
	c := m.churn
	m.rounds--
	c.met.rounds++
	for side := range m.ends {
		e := &m.ends[side]
		e.kinds, e.size = 1+c.rand.IntN(churnKinds-1), c.rand.IntN(churnPlace+1)
	}
	for side := range m.ends {
		m.receive(&m.ends[side], m.ends[1-side].kinds)
	}
	for side := range m.ends {
		m.post(&m.ends[side], &m.ends[1-side])
	}
}

// receive posts the receives that a round of the peer needs.
func (m *meeting) receive(e *churnEnd, kinds int) {
	for _, kind := range []int{churnWriteImm, churnSend} {
		if kinds&kind != 0 {
			_, err := e.qp.PostRecv(roce.RecvWR{SGE: e.mr.SGE(churnInbox, churnPlace)})
			require.NoError(m.churn.t, err)
			e.recvs++
		}
	}
}

// post posts a round's requests of one end.
func (m *meeting) post(e, peer *churnEnd) {
	n := e.size
	for _, off := range []int{churnOutbox, churnMessage} {
		m.fill(e.place(off, n))
	}
	m.fill(peer.place(churnOffer, n))
	remote := peer.mr.Remote()
	request := func(kind int, op roce.Op, local, there, n int) {
		if e.kinds&kind == 0 {
			return
		}
		r := remote.Slice(there, n)
		_, err := e.qp.PostSend(roce.SendWR{
			Op: op, SGE: e.mr.SGE(local, n), RemoteAddr: r.Addr, RKey: r.Key, Add: 1, Imm: uint32(n), Flags: roce.Signaled,
		})
		require.NoError(m.churn.t, err)
		e.sends++
		m.churn.met.operations++
	}
	request(churnWrite, roce.OpWrite, churnOutbox, churnTarget, n)
	request(churnRead, roce.OpRead, churnGot, churnOffer, n)
	request(churnAdd, roce.OpFetchAdd, churnWas, churnCounter, 8)
	request(churnWriteImm, roce.OpWriteImm, churnOutbox, churnTarget, n)
	request(churnSend, roce.OpSend, churnMessage, churnInbox, n)
}

func (m *meeting) fill(b []byte) {
	x := m.churn.rand.Uint64()
	for i := range b {
		b[i] = byte(x>>(8*(i%8))) + byte(i>>3)
	}
}

// take takes completions of an end.
func (m *meeting) take(e *churnEnd, wcs []roce.WC) {
	for i := range wcs {
		require.NoError(m.churn.t, wcs[i].Err(), e.qp.Err())
		if wcs[i].Opcode.Recv() {
			e.recvs--
		} else {
			e.sends--
		}
	}
}

// due reports whether completions of the end are missing.
func (e *churnEnd) due() bool { return e.sends > 0 || e.recvs > 0 }

// check looks at what a round did.
func (m *meeting) check() {
	for side := range m.ends {
		e, peer := &m.ends[side], &m.ends[1-side]
		t, n := m.churn.t, e.size
		require.Zero(t, e.sends)
		require.Zero(t, e.recvs)
		same := func(kinds int, a, b []byte, what string) {
			require.True(t, e.kinds&kinds == 0 || bytes.Equal(a, b), "%s of %d bytes went wrong", what, n)
		}
		same(churnWrite|churnWriteImm, e.place(churnOutbox, n), peer.place(churnTarget, n), "WRITE")
		same(churnRead, e.place(churnGot, n), peer.place(churnOffer, n), "READ")
		same(churnSend, e.place(churnMessage, n), peer.place(churnInbox, n), "SEND")
		if e.kinds&churnAdd != 0 {
			require.Equal(t, e.added, binary.NativeEndian.Uint64(e.place(churnWas, 8)), "a FetchAdd was lost, or done twice")
			e.added++
		}
	}
}

// part closes the connection. Of eight, one is closed with a round under way.
func (m *meeting) part() {
	c := m.churn
	if c.rand.IntN(8) == 0 {
		c.met.abrupt++
		m.begin()
	}
	for side := range m.ends {
		e := &m.ends[side]
		addStats(&c.met.stats, e.qp.Stats())
		require.NoError(c.t, e.qp.Close())
		require.NoError(c.t, e.mr.Close())
		require.NoError(c.t, e.cq.Close())
		require.NoError(c.t, e.pd.Close())
	}
}
