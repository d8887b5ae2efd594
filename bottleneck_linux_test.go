package roce_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/internal/testwire"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// openLink opens a link on a host's interface, with one of its addresses.
type openLink func(*netns.Host, netip.Addr) (link.Link, error)

// jamLinks are the links that congestion is seen on, and jamCases what flows do there:
// WRITE; READ, so that it is the responder that has to slow down; and WRITE without
// DCQCN.
var (
	jamLinks = []struct {
		name string
		open openLink
	}{
		{"udp", func(_ *netns.Host, a netip.Addr) (link.Link, error) { return udp.Open(a) }},
		{"raw", func(h *netns.Host, a netip.Addr) (link.Link, error) { return raw.Open(h.Interface, raw.Addrs(a)) }},
		{"xdp", func(h *netns.Host, a netip.Addr) (link.Link, error) {
			return xdp.Open(h.Interface, xdp.Addrs(a), xdp.Native())
		}},
	}
	jamCases = []struct {
		name  string
		op    roce.Op
		dcqcn bool // at the senders
	}{
		{"WRITE", roce.OpWrite, true},
		{"READ", roce.OpRead, true},
		{"off", roce.OpWrite, false},
	}
)

// TestBottleneck has two hosts send to a third through a port that is too slow for both.
// It proves DCQCN from mark to rate and back, by the counters at both ends and by a
// capture of all that the switch forwarded (D01); what happens instead if the senders have
// it off (D02); and that the application's DSCP goes with either (D04).
func TestBottleneck(t *testing.T) {
	testenv.Need(t, testenv.Netns, testenv.Tshark)
	seed := testenv.Seed(t)
	cells, passed := 0, 0
	for _, l := range jamLinks {
		for _, k := range jamCases {
			v6 := cells%2 == 1
			cells++
			t.Run(fmt.Sprintf("%s/%s/IPv6=%t", l.name, k.name, v6), func(t *testing.T) {
				j := newJam(t, seed, v6, l.open, k.dcqcn)
				j.connect(k.op)
				j.press()
				if k.dcqcn {
					j.recover()
					j.requireSlowed()
				} else {
					j.forge()
					j.requireUnmoved()
				}
				j.requireData()
				j.requireSpacing()
				j.requireCapture()
				passed++
			})
		}
	}
	require.Equal(t, 9, cells)
	require.Equal(t, cells, passed, "cells that passed")
}

const (
	jamRate = 200e6  // bit/s, of the port
	jamLine = 1000e6 // bit/s, what the senders take for their line rate
)

// jamParams is the paper's set for a port that is 200 times slower than the paper's, and
// receivers that look for packets every now and then only: with its timer the rate would
// be back before the next CNP.
func jamParams() ecn.Params {
	p := ecn.Paper()
	p.Timer, p.AdditiveIncrease, p.HyperIncrease, p.MinRate = time.Millisecond, 5e6, 50e6, 2e6
	return p
}

// jam is a bottleneck with a device on each host.
type jam struct {
	*testing.T
	*testwire.Bottleneck
	v6       bool
	dcqcn    bool    // at the senders
	capture  string  // the switch's
	notified *cnpTap // the receiver's
	senders  []*roce.Device
	receiver *roce.Device
	flows    []*flow
}

func newJam(t *testing.T, seed uint64, v6 bool, open openLink, dcqcn bool) *jam {
	t.Helper()
	j := &jam{T: t, v6: v6, dcqcn: dcqcn, notified: &cnpTap{}, capture: filepath.Join(t.TempDir(), "switch.pcap")}
	file, err := os.Create(j.capture)
	require.NoError(t, err)
	j.Bottleneck, err = testwire.NewBottleneck(testwire.BottleneckOptions{
		Senders: 2, Capture: file,
		Egress: testwire.EgressOptions{
			Rate: jamRate, Buffer: 200_000, Seed: seed,
			RED: &ecn.RED{Kmin: 10_000, Kmax: 100_000, Pmax: 0.2},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, j.Close())
		require.NoError(t, file.Close())
	})
	r := rand.New(rand.NewPCG(seed, 0))
	j.receiver = j.open(j.Receiver, open, roce.WithTap(j.notified))
	for i, h := range j.Senders {
		j.senders = append(j.senders, j.open(h, open))
		j.flows = append(j.flows, j.newFlow(i, r))
	}
	return j
}

// open opens a device on a host.
func (j *jam) open(h *netns.Host, open openLink, opts ...roce.Option) (dev *roce.Device) {
	j.Helper()
	require.NoError(j, h.Do(func() error {
		l, err := open(h, j.addr(h))
		if err != nil {
			return err
		}
		dev, err = roce.Open(l, opts...)
		return err
	}))
	j.Cleanup(func() { require.NoError(j, dev.Close()) })
	return dev
}

// addr is the address of a host that is used.
func (j *jam) addr(h *netns.Host) netip.Addr {
	if j.v6 {
		return h.IPv6
	}
	return h.IPv4
}

// requireSlowed proves the way from the marks to the rates: every mark was seen, the
// notifications that were sent all arrived, and each sender was slowed down, never below
// the lowest rate.
func (j *jam) requireSlowed() {
	port, at := j.Counts(), j.receiver.Counters()
	var handled uint64
	for i, f := range j.flows {
		c := f.source.dev.Counters()
		handled += c[roce.CounterRPCNPHandled]
		j.Logf("sender %d: %d CNPs, down to %.1f Mb/s, %d operations until the line rate; %d packets sent again",
			i, c[roce.CounterRPCNPHandled], f.slowest/1e6, f.steps, c[roce.CounterTxRetransmits])
		require.NotZero(j, c[roce.CounterRPCNPHandled])
		require.Zero(j, c[roce.CounterRPCNPIgnored])
		require.Zero(j, c[roce.CounterNPECNMarkedRoCEPackets], "marks on what the switch does not mark")
		require.Zero(j, c[roce.CounterNPCNPSent])
		require.Less(j, f.slowest, jamLine, "a sender was never slowed down")
		require.GreaterOrEqual(j, f.slowest, jamParams().MinRate)
	}
	require.NotZero(j, port.Marked)
	require.Equal(j, port.Marked, at[roce.CounterNPECNMarkedRoCEPackets])
	require.Equal(j, handled, at[roce.CounterNPCNPSent])
	require.LessOrEqual(j, handled, port.Marked)
	require.Zero(j, at[roce.CounterRPCNPHandled])
}

// requireUnmoved proves that senders without DCQCN are not marked, so that the buffer
// overflows, and that CNPs are nothing to them.
func (j *jam) requireUnmoved() {
	port, at := j.Counts(), j.receiver.Counters()
	require.Zero(j, port.Marked)
	require.NotZero(j, port.Dropped)
	require.Zero(j, at[roce.CounterNPECNMarkedRoCEPackets])
	require.Zero(j, at[roce.CounterNPCNPSent])
	for _, f := range j.flows {
		c := f.source.dev.Counters()
		require.EqualValues(j, forgedCNPs, c[roce.CounterRPCNPIgnored])
		require.Zero(j, c[roce.CounterRPCNPHandled])
		require.Zero(j, f.source.qp.Rate().BitsPerSec)
	}
}
