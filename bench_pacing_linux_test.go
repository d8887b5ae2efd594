package roce_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	// pacingBin is the time over which a rate is looked at; about that takes an iteration.
	pacingBin = 10 * time.Millisecond
	// burstTime is what a pacer saves up, and so over how much it may bunch packets.
	burstTime = 50 * time.Microsecond
)

// BenchmarkPacing is how well a queue pair keeps to a rate where the clock is real: over the
// loopback interface at path MTU 4096, as packets leave the engine. It reports the rate in
// percent of the one that was set, by how much 10 ms miss it (median), the most bytes that
// left within 50 µs, and the longest time without a packet. Beside it stands what the machine
// does to a loop that only looks at the clock, for as long: the longest time for which it did
// not run, and which part of its time went in pieces longer than a pacer makes up for. No
// pacer is better.
func BenchmarkPacing(b *testing.B) {
	if os.Getenv(pacingPeerVariable) != "" {
		bePacingPeer(b)
		return
	}
	for _, c := range []struct {
		name string
		rate float64
	}{{"100Mbps", 100e6}, {"1Gbps", 1e9}, {"5Gbps", 5e9}} {
		b.Run(c.name, func(b *testing.B) { keepPace(b, c.rate) })
	}
}

func keepPace(b *testing.B, rate float64) {
	log := &departures{}
	params := ecn.Paper()
	params.MaxRate = rate
	cfg := roce.QPConfig{SendDepth: 256, DCQCN: &roce.DCQCN{Params: params}}
	x := newBenchEnd(b, loopback(b), 1, 1, roce.WithTap(log)).second(cfg)
	there := startPacingPeer(b, x.qp)
	wr := roce.SendWR{Op: roce.OpWrite, SGE: x.mr.SGE(0, bufferSize), RemoteAddr: there.Addr, RKey: there.Key}
	messages := max(1, int(rate*pacingBin.Seconds()/8/bufferSize))
	list := slices.Repeat([]roce.SendWR{wr}, messages)
	list[len(list)-1].Flags = roce.Signaled
	pipeline(b, x, [][]roce.SendWR{list, list}, wait)
	log.report(b, rate)
}

// departures are the data packets that left, in order.
type departures struct {
	at    []clock.Time
	bytes []int // on the wire
}

// Packet implements trace.Tap.
func (d *departures) Packet(e *trace.Event) {
	if e.Dir != trace.Out || bth.Opcode(e.Frame[0][0]) == bth.RCAcknowledge {
		return
	}
	n := wire.EthernetOverhead + wire.IPv4Len + wire.UDPLen
	for _, piece := range e.Frame {
		n += len(piece)
	}
	d.at, d.bytes = append(d.at, clock.Now()), append(d.bytes, n)
}

func (d *departures) report(b *testing.B, rate float64) {
	first, last := d.at[0], d.at[len(d.at)-1]
	total, bins := 0, make([]int, last.Sub(first)/pacingBin)
	var gap time.Duration
	for i := 1; i < len(d.at); i++ {
		total += d.bytes[i]
		gap = max(gap, d.at[i].Sub(d.at[i-1]))
		if bin := int(d.at[i].Sub(first) / pacingBin); bin < len(bins) {
			bins[bin] += d.bytes[i]
		}
	}
	misses := make([]float64, len(bins))
	for i, n := range bins {
		misses[i] = max(rateOver(n, pacingBin)/rate-1, 1-rateOver(n, pacingBin)/rate)
	}
	slices.Sort(misses)
	b.ReportMetric(100*rateOver(total, last.Sub(first))/rate, "rate-%")
	b.ReportMetric(100*misses[len(misses)/2], "miss-%")
	b.ReportMetric(float64(d.burst()), "burst-B")
	b.ReportMetric(float64(gap.Microseconds()), "gap-µs")
	spinGap, lost := spin(last.Sub(first))
	b.ReportMetric(float64(spinGap.Microseconds()), "spin-gap-µs")
	b.ReportMetric(100*lost, "spin-lost-%")
}

func rateOver(bytes int, d time.Duration) float64 { return float64(bytes) * 8 / d.Seconds() }

// burst is the most bytes that left within burstTime.
func (d *departures) burst() (most int) {
	from, sum := 0, 0
	for i, at := range d.at {
		for sum += d.bytes[i]; at.Sub(d.at[from]) > burstTime; from++ {
			sum -= d.bytes[from]
		}
		most = max(most, sum)
	}
	return most
}

// spin does nothing but look at the clock for a time. It returns the longest time between
// two looks, and the part of all that went in gaps beyond burstTime.
func spin(d time.Duration) (longest time.Duration, lost float64) {
	began := clock.Now()
	for now := began; now < began.Add(d); {
		next := clock.Now()
		gap := next.Sub(now)
		longest = max(longest, gap)
		lost += float64(max(gap-burstTime, 0))
		now = next
	}
	return longest, lost / float64(d)
}
