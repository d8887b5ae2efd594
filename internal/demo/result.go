package demo

import (
	"net/netip"

	"github.com/rocinante-rdma/roce"
)

// Result is what came of a run, and the object that --json prints.
type Result struct {
	Network    string     `json:"network"`
	Note       string     `json:"note,omitempty"` // why it is not udp
	A          netip.Addr `json:"a"`
	B          netip.Addr `json:"b"`
	PathMTU    int        `json:"path_mtu"` // bytes
	Checked    int64      `json:"checked"`  // bytes of memory compared
	Capture    string     `json:"capture"`  // the pcapng file
	Packets    int        `json:"packets"`  // in the capture, each as sent and as received
	Burst      int        `json:"burst"`    // operations at once while measuring the rate
	Repeated   uint64     `json:"repeated"` // packets that A sent again while measuring
	Operations []Measured `json:"operations"`

	// What the two devices counted, while recording and while measuring.
	CountersA roce.Counters `json:"counters_a"`
	CountersB roce.Counters `json:"counters_b"`
}

// count adds what the devices of two ends counted.
func (r *Result) count(ends *pair) {
	a, b := ends.a.dev.Counters(), ends.b.dev.Counters()
	for id := range roce.NumCounters {
		r.CountersA[id] += a[id]
		r.CountersB[id] += b[id]
	}
}

// Measured is what was measured of an operation.
type Measured struct {
	Operation string `json:"operation"`

	Singles     int     `json:"singles"` // operations done one at a time
	SingleBytes int     `json:"single_bytes"`
	P50         float64 `json:"p50_us"` // µs from posting to completion
	P99         float64 `json:"p99_us"`

	InBursts    int     `json:"in_bursts"` // operations done in bursts
	BurstBytes  int     `json:"burst_bytes"`
	PerSecond   float64 `json:"per_second"`
	MBPerSecond float64 `json:"mb_per_second"` // 10⁶ bytes
}
