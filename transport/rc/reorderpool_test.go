package rc_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// heldSize is what a packet of up to 256 bytes takes from a pool.
const heldSize = 512

// receivers are hosts that hold requests in one pool. They expect PSN 100.
func receivers(t *testing.T, pool *rc.ReorderPool, n int) (list []*host) {
	now := new(clock.Time)
	for i := range n {
		h := newHost(t, "B", 0x22+uint32(i), now, holdingIn(pool))
		h.connect(0x11, 500, 100, defaults())
		list = append(list, h)
	}
	return list
}

// hoard has the host hold as many requests as it may, and returns how many that were.
func (h *host) hoard() (n int) {
	for psn := bth.PSN(101); h.recv(request(bth.RCSendOnly, psn, 8)).Action == transport.Held; psn++ {
		n++
	}
	return n
}

// TestShareOfThePool proves that a queue pair holds no more than it leaves to the others,
// so that one whose peer fills gaps never takes all; and that without room a gap is
// reported all the same.
func TestShareOfThePool(t *testing.T) {
	pool := rc.NewReorderPool(64 * heldSize)
	b := receivers(t, pool, 4)
	require.Equal(t, 32, b[0].hoard())
	require.Equal(t, transport.Verdict{Rule: transport.RuleNoRoom, PSN: 100}, b[0].recv(request(bth.RCSendOnly, 200, 8)))
	require.Equal(t, 16, b[1].hoard())
	require.Equal(t, 8, b[2].hoard())
	require.Equal(t, 4, b[3].hoard())
	require.LessOrEqual(t, pool.Used(), 64*heldSize)

	full := receivers(t, rc.NewReorderPool(heldSize), 1)[0]
	require.Equal(t, transport.Verdict{Action: transport.Refused, Rule: transport.RuleGap, PSN: 100}, full.recv(request(bth.RCSendOnly, 101, 8)))
	require.Len(t, full.drain(), 1)
}

// TestSizesOfThePool proves that memory of one size makes way for that of another, and
// that what was used once is used again.
func TestSizesOfThePool(t *testing.T) {
	pool := rc.NewReorderPool(16 * heldSize)
	b := receivers(t, pool, 1)[0]
	require.Equal(t, 8, b.hoard())
	for i := range 8 {
		b.postRecv(uint64(i), 0, 8)
	}
	b.postRecv(8, 0, 8)
	b.recv(request(bth.RCSendOnly, 100, 8))
	require.Zero(t, pool.Used())
	large := request(bth.RCWriteMiddle, 150, testMTU)
	for psn := bth.PSN(150); b.recv(large).Action == transport.Held; psn++ {
		large.PSN = psn + 1
	}
	require.Equal(t, 3*(256+1024), pool.Used())
}

// TestHostileOrder proves that requests in an order that no network makes cost little and
// are executed in order or not at all, and that distant ones are not held.
func TestHostileOrder(t *testing.T) {
	for name, order := range map[string]func(n int) []int{
		"descending": func(n int) []int {
			list := make([]int, n)
			for i := range list {
				list[i] = n - 1 - i
			}
			return list
		},
		"random": rand.New(rand.NewPCG(1, 2)).Perm,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 256 // as far as requests are held
			p, pool := holdingPair(t, defaults())
			for i := range n + 1 {
				p.b.postRecv(uint64(i), 0, 8)
			}
			held := 0
			for _, i := range order(n) {
				if p.b.recv(request(bth.RCSendOnly, 101+bth.PSN(i), 8)).Action == transport.Held {
					held++
				}
			}
			require.Equal(t, held*heldSize, pool.Used())
			if name == "descending" {
				require.Equal(t, n, held)
			}
			for psn := bth.PSN(100); p.b.recv(request(bth.RCSendOnly, psn, 8)).Action != transport.Refused && psn < 100+n; psn++ {
				p.b.drain()
			}
			require.Zero(t, pool.Used())
			for i, wc := range p.b.recvs {
				require.EqualValues(t, i, wc.ID)
			}
			require.Equal(t, transport.Refused, p.b.recv(request(bth.RCSendOnly, 100+n+4200, 8)).Action, "too far away")
			require.Zero(t, pool.Used())
		})
	}
}

// TestGhostAmongHeld proves that a stray packet far behind, which will be in the way until
// its turn, costs a peer no acknowledgement (ghosts).
func TestGhostAmongHeld(t *testing.T) {
	p := newPair(t, defaults(), holding)
	p.b.recv(request(bth.RCSendOnly, 1000, 8))
	for i := range 20 {
		p.b.postRecv(uint64(i), 0, 8)
		p.sendsOf(qp.OpSend, 1)
		p.flow()
	}
	p.a.requireSends(ok(20)...)
	require.Zero(t, p.a.m.Stats().Retransmitted)
	require.Zero(t, p.a.m.Stats().Timeouts)
}

// TestHoldingAllocatesNothing proves that holding costs no allocation once the pool has
// memory.
func TestHoldingAllocatesNothing(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	writes := make([]bth.Packet, 32)
	for i := range writes {
		w := request(bth.RCWriteOnly, 0, 8)
		w.RETH = bth.RETH{VA: p.b.addr(0), RKey: uint32(p.b.mem.RKey()), Len: 8}
		writes[i] = w.Packet
	}
	first := bth.PSN(100)
	var o rc.Out
	allocs := testing.AllocsPerRun(20, func() {
		for i := len(writes) - 1; i >= 0; i-- {
			writes[i].PSN = first.Add(uint32(i))
			p.b.m.Receive(p.now, &writes[i])
		}
		for p.b.m.Next(p.now, transport.AllClasses, &o) {
		}
		first = first.Add(uint32(len(writes)))
	})
	require.Zero(t, allocs)
	require.Equal(t, first.Sub(1), o.PSN, "all were executed")
	require.Zero(t, pool.Used())
}
