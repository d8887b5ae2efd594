package trace_test

import (
	"net/netip"
	"os"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Two devices of a simulated world feed one ladder; a capture or JSON lines would
// be further sinks. Devices call their taps themselves.
func ExampleNewSync() {
	rec := trace.NewSync(trace.NewLadder(os.Stdout, trace.LadderOptions{Width: 80}))
	client, server := rec.Device("client"), rec.Device("server")

	send := trace.Event{ICRC: wire.ICRCGood,
		Dir: trace.Out, QPN: 0x11,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		Frame: [][]byte{{
			byte(bth.RCSendOnly), 0x40, 0xff, 0xff, 0, 0, 0, 0x12, 0x80, 0, 0x12, 0x67, // BTH
			'p', 'i', 'n', 'g', 0x5d, 0x1c, 0x0b, 0xa7, // payload and ICRC
		}},
	}
	client.Packet(&send)

	arrival := send
	arrival.Dir, arrival.QPN = trace.In, 0x12
	arrival.Time = arrival.Time.Add(3 * time.Microsecond)
	arrival.Verdict = transport.Verdict{Action: transport.Executed, Rule: transport.RuleInOrder, PSN: 4711}
	server.Packet(&arrival)

	again := send
	again.Time, again.Cause = clock.Time(67*time.Millisecond), transport.CauseTimeout
	client.Packet(&again)

	_ = rec.Close()
	// Output:
	// time/µs  client · QP 0x11                                     server · QP 0x12
	//            ┬                                                                   ┬
	//     0.000  │ SEND Only PSN 4711 (4 B) ────────────────────────────────────────▶│
	//            │ first transmission                     executed: expected request │
	// 67000.000  │ SEND Only PSN 4711 (4 B) ──────────────────────────────────────✗  │
	//            │ retransmission: no acknowledgement in time           not received │
}
