package link_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/internal/testwire"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// The loss matrix: every link, every kind of fault, every kind of packet, on a wire
// between two kernels.
var (
	lossLinks = []struct {
		name string
		open func(h *netns.Host, addr netip.Addr) (link.Link, error)
	}{
		{"udp", func(_ *netns.Host, addr netip.Addr) (link.Link, error) { return udp.Open(addr) }},
		{"raw", func(h *netns.Host, addr netip.Addr) (link.Link, error) {
			return raw.Open(h.Interface, raw.Addrs(addr))
		}},
		{"xdp", func(h *netns.Host, addr netip.Addr) (link.Link, error) {
			return xdp.Open(h.Interface, xdp.Addrs(addr), xdp.Native())
		}},
	}

	// Faults as lines of a script: %s is the packets, %g the probability of each line. A
	// bit of the PSN, of the payload or the AETH, or of the ICRC is flipped.
	lossFaults = []struct{ name, script string }{
		{"drop", "drop %s p %g"},
		{"duplicate", "duplicate %s p %g"},
		{"reorder", "reorder %s by 2 p %g"},
		{"corrupt", "corrupt %[1]s bit 90 p %[2]g\ncorrupt %[1]s bit 130 p %[2]g\ncorrupt %[1]s bit -20 p %[2]g"},
		{"delay", "delay %s by 3ms p %g"},
	}

	// Packets come from x, the requester, at "a", or from y at "b". Few
	// acknowledgements come, one or two for each round of operations.
	lossPackets = []lossTarget{
		{name: "data", what: "data from a", p: 0.05},
		{name: "ACK", what: "ack from b transmission 1", p: 0.4},
		{name: "READ response", what: "read-response from b", p: 0.1},
	}
)

type lossTarget struct {
	name, what string
	p          float64
}

// TestLossMatrix does all operations under each fault: memory is exact, every operation
// is executed once and in order, and what was flipped is found out by whom it must.
func TestLossMatrix(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	seed := testenv.Seed(t)
	cells, runs, passed := 0, 0, 0
	for _, l := range lossLinks {
		for _, f := range lossFaults {
			for _, target := range lossPackets {
				for _, v6 := range lossProtocols(cells) {
					t.Run(fmt.Sprintf("%s/%s/%s/IPv6=%t", l.name, f.name, target.name, v6), func(t *testing.T) {
						c := newLossCell(t, seed, v6, l.open)
						lines := 1 + strings.Count(f.script, "\n")
						c.inflict(fmt.Sprintf(f.script, target.what, target.p/float64(lines)))
						c.bout.run(lossRounds)
						c.lift()
						c.bout.run(1) // behind all that came before, in both directions
						c.bout.requireMemory()
						c.requireVerdicts(f.name, target.name)
						c.requireCorruptionFound(f.name == "corrupt", l.name == "udp")
						passed++
					})
					runs++
				}
				cells++
			}
		}
	}
	require.Equal(t, 45, cells)
	require.Equal(t, runs, passed, "cells that passed")
}

// lossProtocols are the protocols for a cell: IPv4 and IPv6 in turn, or both if ROCE_FULL
// is set.
func lossProtocols(cell int) (v6 []bool) {
	if testenv.Full() {
		return []bool{false, true}
	}
	return []bool{cell%2 == 1}
}

const lossRounds = 40

// lossCell is two ends on a wire under a fault.
type lossCell struct {
	*testing.T
	wire  *testwire.Wire
	x, y  *lossEnd
	bout  *bout
	rules []*fault.Rule
}

func newLossCell(t *testing.T, seed uint64, v6 bool, open func(*netns.Host, netip.Addr) (link.Link, error)) *lossCell {
	t.Helper()
	w, err := testwire.New(netns.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	w.Faults.SetSeed(seed)
	c := &lossCell{T: t, wire: w}
	c.x, c.y = newLossEnd(t, w.A, v6, open), newLossEnd(t, w.B, v6, open)
	c.x.connect(c.y)
	c.y.connect(c.x)
	c.bout = newBout(t, rand.New(rand.NewPCG(seed, 0)), c.x, c.y)
	return c
}

// inflict puts the rules of a script in force.
func (c *lossCell) inflict(script string) {
	rules, err := fault.Parse(script)
	require.NoError(c, err)
	c.rules = rules
	c.wire.Faults.Add(rules...)
}

// lift ends the rules, which must have struck.
func (c *lossCell) lift() {
	c.wire.Faults.Remove(c.rules...)
	for _, r := range c.rules {
		c.Logf("%v: %d packets", r, c.wire.Faults.Hits(r))
	}
	require.NotZero(c, c.struck(), "packets that the rules struck")
}

// struck is the number of packets that the rules struck.
func (c *lossCell) struck() uint64 {
	ab, ba := c.wire.Counts()
	return ab.Struck + ba.Struck
}
