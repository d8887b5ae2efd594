package roce_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/simnet"
)

// counted are the counters that are not zero, those of mere traffic left out.
type counted map[roce.CounterID]uint64

func countedBy(d *roce.Device) counted {
	m := counted{}
	for id, n := range d.Counters().All() {
		if n != 0 && id > roce.CounterTxBytes {
			m[id] = n
		}
	}
	return m
}

// trouble is a situation that is counted.
type trouble struct {
	name  string
	opts  []roce.ConnectOption // of A
	fault *simnet.Fault
	do    func(p *pair)
	a, b  counted
}

// writes posts WRITEs of n bytes from A to B, together.
func (p *pair) writes(times, n int) {
	wrs := make([]roce.SendWR, times)
	for i := range wrs {
		wrs[i] = p.remote(roce.OpWrite)
		wrs[i].SGE, wrs[i].Flags = p.a.mr.SGE(0, n), roce.Signaled
	}
	p.a.send(wrs...)
}

// troubles are situations with what A, the requester, and B count in them.
var troubles = []trouble{
	{"none", nil, nil, func(p *pair) {
		p.b.recv(1, 0, 8)
		p.a.send(p.remote(roce.OpSend), p.remote(roce.OpWrite), p.remote(roce.OpRead), p.remote(roce.OpFetchAdd))
	}, counted{}, counted{
		roce.CounterRDMARecvs: 1, roce.CounterRxWriteRequests: 1, roce.CounterRxReadRequests: 1, roce.CounterRxAtomicRequests: 1,
	}},
	{"a request is lost", nil, simnet.Drop(simnet.Match{From: "a", Nth: 3}), func(p *pair) {
		p.writes(1, 10) // which measures the round trip
		p.writes(1, 5*1024)
	}, counted{
		roce.CounterTxRetransmits: 1, roce.CounterPacketSeqErr: 1,
	}, counted{
		roce.CounterRxWriteRequests: 2, roce.CounterOutOfSequence: 3, roce.CounterOutOfSeqRequest: 1,
	}},
	{"a request comes twice", nil, simnet.Duplicate(simnet.Match{From: "a", Nth: 2}), func(p *pair) { p.writes(1, 5*1024) }, counted{}, counted{
		roce.CounterRxWriteRequests: 1, roce.CounterDuplicateRequest: 1,
	}},
	{"an acknowledgement is lost", nil, simnet.Drop(simnet.Match{From: "b", Nth: 1}), func(p *pair) { p.writes(1, 3*1024) }, counted{
		roce.CounterTxRetransmits: 3, roce.CounterLocalAckTimeoutErr: 1,
	}, counted{
		roce.CounterRxWriteRequests: 1, roce.CounterDuplicateRequest: 3,
	}},
	{"data of a READ is lost", nil, simnet.Drop(simnet.Match{From: "b", Nth: 2}), func(p *pair) {
		wr := p.remote(roce.OpRead)
		wr.SGE = p.a.mr.SGE(0, 4*1024)
		p.a.send(wr)
	}, counted{
		roce.CounterTxRetransmits: 1, roce.CounterImpliedNAKSeqErr: 1,
	}, counted{
		roce.CounterRxReadRequests: 1, roce.CounterDuplicateRequest: 1,
	}},
	{"a request is corrupted", nil, simnet.Corrupt(simnet.Match{From: "a", Nth: 1}, 200), func(p *pair) { p.writes(1, 8) }, counted{
		roce.CounterTxRetransmits: 1, roce.CounterLocalAckTimeoutErr: 1,
	}, counted{
		roce.CounterRxWriteRequests: 1, roce.CounterRxDropped: 1, roce.CounterRxICRCEncapsulated: 1,
	}},
	{"a receive is late", nil, nil, func(p *pair) {
		p.a.send(roce.SendWR{Op: roce.OpSend})
		p.until(func() bool { return p.a.qp.Stats().RNRWaits == 1 })
		p.b.recv(1, 0, 8)
	}, counted{
		roce.CounterTxRetransmits: 1, roce.CounterRNRNAKRetryErr: 1,
	}, counted{
		roce.CounterRDMARecvs: 1, roce.CounterOutOfBuffer: 1,
	}},
	{"no receive ever", []roce.ConnectOption{roce.WithRetry(14, 7, 2)}, nil, func(p *pair) { p.a.send(roce.SendWR{Op: roce.OpSend}) }, counted{
		roce.CounterTxRetransmits: 2, roce.CounterRNRNAKRetryErr: 2, roce.CounterReqRNRRetriesExceeded: 1, roce.CounterReqCQEError: 1,
	}, counted{
		roce.CounterOutOfBuffer: 3,
	}},
	{"no answer ever", []roce.ConnectOption{roce.WithRetry(8, 2, 7)}, simnet.Drop(simnet.Match{From: "a"}), func(p *pair) { p.writes(2, 8) }, counted{
		roce.CounterTxRetransmits: 4, roce.CounterLocalAckTimeoutErr: 2, roce.CounterReqTransportRetriesExceeded: 1,
		roce.CounterReqCQEError: 2, roce.CounterReqCQEFlushError: 1,
	}, counted{}},
	{"the peer never gets what it misses", []roce.ConnectOption{roce.WithRetry(14, 0, 7)}, simnet.Drop(simnet.Match{From: "a", Nth: 1}), func(p *pair) { p.writes(2, 8) }, counted{
		roce.CounterReqTransportRetriesExceeded: 1, roce.CounterReqCQEError: 2, roce.CounterReqCQEFlushError: 1,
	}, counted{
		roce.CounterOutOfSequence: 1, roce.CounterOutOfSeqRequest: 1,
	}},
	{"a wrong key", nil, nil, func(p *pair) {
		p.b.recv(1, 0, 8)
		wr := p.remote(roce.OpWrite)
		wr.RKey ^= 1
		p.a.send(wr)
	}, counted{
		roce.CounterReqRemoteAccessErrors: 1, roce.CounterReqCQEError: 1,
	}, counted{
		roce.CounterRespRemoteAccessErrors: 1, roce.CounterRespCQEError: 1, roce.CounterRespCQEFlushError: 1,
	}},
	{"a SEND that is too long", nil, nil, sendTooLong, counted{
		roce.CounterReqRemoteInvalidRequest: 1, roce.CounterReqCQEError: 1,
	}, counted{
		roce.CounterRespLocalLengthError: 1, roce.CounterRespCQEError: 1,
	}},
	{"a receive in a closed region", nil, nil, sendToClosedRegion, counted{
		roce.CounterReqRemoteOperationErrors: 1, roce.CounterReqCQEError: 1,
	}, counted{
		roce.CounterRespCQEError: 1,
	}},
}

// until runs the world until something is so.
func (p *pair) until(so func() bool) {
	p.t.Helper()
	require.NoError(p.t, p.world.RunUntil(so, p.world.Now().Add(time.Minute)))
}

// TestCountersCount proves what each counter counts, by situations in which every
// packet is known; none counts anything else. They outlive their queue pair.
func TestCountersCount(t *testing.T) {
	met := map[roce.CounterID]bool{
		roce.CounterRPCNPHandled: true, roce.CounterRPCNPIgnored: true, // see TestCNPsAreCounted
		roce.CounterNPECNMarkedRoCEPackets: true, roce.CounterNPCNPSent: true, // see TestMarkedDataIsNotified
	}
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			p := newUnconnected(t, roce.QPConfig{})
			require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), c.opts...))
			require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
			if c.fault != nil {
				p.world.Faults.Add(c.fault)
			}
			c.do(p)
			p.settle()
			a, b := countedBy(p.a.dev), countedBy(p.b.dev)
			require.Equal(t, c.a, a, "A")
			require.Equal(t, c.b, b, "B")
			for _, side := range []counted{a, b} {
				for id := range side {
					met[id] = true
				}
			}
			traffic := p.a.dev.Counters()
			require.Equal(t, traffic[roce.CounterRxPackets] > 0, traffic[roce.CounterRxBytes] > 0)
			require.NotZero(t, traffic[roce.CounterTxPackets])
			require.NotZero(t, traffic[roce.CounterTxBytes])

			require.NoError(t, p.a.qp.Close())
			require.Equal(t, a, countedBy(p.a.dev), "A, its queue pair closed")
			require.NoError(t, p.b.dev.Close())
			after := countedBy(p.b.dev)
			delete(after, roce.CounterRespCQEFlushError) // what was posted is flushed
			delete(after, roce.CounterRespCQEError)
			delete(b, roce.CounterRespCQEFlushError)
			delete(b, roce.CounterRespCQEError)
			require.Equal(t, b, after, "B, closed")
		})
	}
	for id := roce.CounterTxBytes + 1; id < roce.NumCounters; id++ {
		require.True(t, met[id], "%s was met in no situation", id)
	}
}

// TestCountersOfTwoQueuePairs proves that a device's counters are those of all its
// queue pairs together, and that Sub tells what came since.
func TestCountersOfTwoQueuePairs(t *testing.T) {
	p := newPair(t)
	p.writes(3, 8)
	p.wait(p.a, 3)
	before := p.b.dev.Counters()
	require.EqualValues(t, 3, before[roce.CounterRxWriteRequests])
	require.NoError(t, p.b.qp.Close())

	more := &pair{t, p.world, p.a.second(roce.QPConfig{}), p.b.second(roce.QPConfig{})}
	require.NoError(t, more.a.qp.Connect(more.b.qp.Info()))
	require.NoError(t, more.b.qp.Connect(more.a.qp.Info()))
	more.writes(2, 8)
	more.wait(more.a, 2)
	require.EqualValues(t, 5, p.b.dev.Counters()[roce.CounterRxWriteRequests])
	since := p.b.dev.Counters().Sub(before)
	require.EqualValues(t, 2, since[roce.CounterRxWriteRequests])
	require.EqualValues(t, 2, since[roce.CounterRxPackets])
}

// TestCNPsAreCounted proves that the device counts congestion notifications to queue pairs
// with DCQCN, and those to others or of others than the peer; the latter are dropped, too.
func TestCNPsAreCounted(t *testing.T) {
	for _, dcqcn := range []*roce.DCQCN{nil, {}} {
		countCNPs(t, dcqcn)
	}
}

func countCNPs(t *testing.T, dcqcn *roce.DCQCN) {
	s := newPeace(t, roce.QPConfig{DCQCN: dcqcn})
	s.connect()
	before := s.victim.dev.Counters()
	fire(s.forged(bth.CNP, bthtest.BECN), s.forged(bth.CNP, bthtest.BECN))
	m := enemyMeta()
	m.Src = strangerAddr
	s.sealed(s.stranger, m, bthtest.New(bth.CNP, bthtest.BECN, bthtest.QP(s.victim.qp.QPN()))).fire()
	s.settle()
	since := s.victim.dev.Counters().Sub(before)
	require.EqualValues(t, 3, since[roce.CounterRxPackets])
	require.EqualValues(t, 1, since[roce.CounterRxDropped])
	handled := uint64(0)
	if dcqcn != nil {
		handled = 2
	}
	require.Equal(t, handled, since[roce.CounterRPCNPHandled])
	require.Equal(t, 3-handled, since[roce.CounterRPCNPIgnored])
}

// TestCounterNames proves that every counter says what it is, in names that a
// Prometheus metric can have.
func TestCounterNames(t *testing.T) {
	seen := map[string]bool{}
	for id := range roce.NumCounters {
		require.Regexp(t, regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`), id.String())
		require.False(t, seen[id.String()], id)
		seen[id.String()] = true
		require.NotEmpty(t, id.Help(), id)
		require.NotEmpty(t, id.Unit(), id)
		require.Contains(t, []string{"both", "requester", "responder"}, id.Side().String())
	}
	require.Equal(t, "counter 200", roce.CounterID(200).String())
}

// TestCountersAsJSON proves that programs read what programs write.
func TestCountersAsJSON(t *testing.T) {
	var c, back roce.Counters
	for id := range c {
		c[id] = 1 << 63 >> id
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"rx_packets":9223372036854775808,"tx_packets":4611686018427387904,`)
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, c, back)
	require.NoError(t, json.Unmarshal([]byte(`{"out_of_buffer":3,"of_another_version":1}`), &back))
	require.Equal(t, roce.Counters{roce.CounterOutOfBuffer: 3}, back)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"out_of_buffer":-1}`), &back), "read counters")
}
