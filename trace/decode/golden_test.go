package decode

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What a learner sees, kept as files to look at: loss, RNR, connection manager,
// IPv6, a READ, and a selection.
func TestGolden(t *testing.T) {
	sends, err := ParseOp("send")
	require.NoError(t, err)
	for _, c := range []struct {
		golden, capture string
		options         Options
	}{
		{"loss.list", "loss_send_bw_netem.pcap", Options{}},
		{"loss.ladder", "loss_rc_pingpong_nth.pcap", Options{Format: Ladder, Filter: Filter{To: 41}}},
		{"rnr.list", "vt_err_rnr_once.pcap", Options{}},
		{"rnr.ladder", "vt_err_rnr_once.pcap", Options{Format: Ladder}},
		{"rnr.json", "vt_err_rnr_once.pcap", Options{Format: JSONLines}},
		{"reject.list", "cm_reject_no_listener.pcap", Options{}},
		{"reject.ladder", "cm_reject_no_listener.pcap", Options{Format: Ladder}},
		{"reject.json", "cm_reject_no_listener.pcap", Options{Format: JSONLines}},
		{"connect.list", "ucmatose.pcap", Options{}},
		{"connect.ladder", "ucmatose.pcap", Options{Format: Ladder}},
		{"ipv6.list", "rc_pingpong_ipv6.pcap", Options{Filter: Filter{To: 30}}},
		{"ipv6.ladder", "rc_pingpong_ipv6.pcap", Options{Format: Ladder, Filter: Filter{To: 30}}},
		{"read.ladder", "vt_psn_wrap.pcap", Options{Format: Ladder}},
		{"twoqps.ladder", "srq_pingpong.pcap", Options{Format: Ladder, Filter: Filter{To: 119}}},
		{"unanswered.list", "vt_err_timeout.pcap", Options{}},
		{"trouble.list", "ib_send_bw_rnr.pcap", Options{Filter: Filter{Trouble: true, Ops: []Op{sends}, To: 60}}},
	} {
		t.Run(c.golden, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, Print(&b, "testdata/captures/"+c.capture, c.options))
			checkGolden(t, c.golden, b.Bytes())
		})
	}
}

// A made-up capture with what real ones lack: comments, congestion, damage.
func TestGoldenSynthetic(t *testing.T) {
	file := t.TempDir() + "/x.pcap"
	var c connection
	c.request(100)
	c.answer(bth.ACKUnlimited, 100, 1)
	r := c.request(101)
	r.Data[len(r.Data)-6] ^= 1
	c.request(102)
	c.answer(bth.NAKSequence, 101, 1)
	c.request(101)
	c.request(102).Data[15] |= 3 // congestion experienced
	c.answer(bth.ACKUnlimited, 102, 3)
	c.send(bob, alice, bth.Packet{Opcode: bth.CNP, DestQP: 0x10, BECN: true}, 0)
	c.add(Decode(&c.records[0]).AppendFrame(nil, 0)) // an empty datagram
	require.NoError(t, os.WriteFile(file, pcapFile(c.records), 0o600))
	for golden, format := range map[string]Format{"synthetic.list": List, "synthetic.ladder": Ladder, "synthetic.json": JSONLines} {
		var b bytes.Buffer
		require.NoError(t, Print(&b, file, Options{Format: format}))
		checkGolden(t, golden, b.Bytes())
	}
}

// A capture of our own recorder, with two devices: the comments are shown, and the
// ladder draws what one sent and the other received as one arrow.
func TestGoldenOwn(t *testing.T) {
	var c connection
	c.request(100)
	c.answer(bth.ACKUnlimited, 100, 1)
	file := t.TempDir() + "/own.pcapng"
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	rec := trace.NewSync(trace.NewPcapng(f, dawn))
	devices := map[netip.Addr]trace.Tap{alice: rec.Device("alice"), bob: rec.Device("bob")}
	qpns := map[netip.Addr]uint32{alice: 0x10, bob: 0x20}
	for i, p := range c.annotate() {
		at := clock.Time(i * 10_000)
		e := trace.Event{
			ICRC: wire.ICRCGood,
			Time: at, Dir: trace.Out, QPN: qpns[p.Src], Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort,
			ID: p.ID, IDKnown: true, Flags: p.Flags, Frame: [][]byte{p.Frame},
		}
		devices[p.Src].Packet(&e)
		e.Time, e.Dir, e.QPN = at+2000, trace.In, qpns[p.Dst]
		e.Verdict = transport.Verdict{Action: transport.Executed, Rule: transport.RuleInOrder, PSN: 100}
		if p.BTH.Opcode.Is(bth.Ack) {
			e.Verdict = transport.Verdict{Action: transport.Advanced, Rule: transport.RuleAck, PSN: 100}
		}
		devices[p.Dst].Packet(&e)
	}
	require.NoError(t, rec.Close())
	for golden, format := range map[string]Format{"own.list": List, "own.ladder": Ladder} {
		var b bytes.Buffer
		require.NoError(t, Print(&b, file, Options{Format: format}))
		checkGolden(t, golden, b.Bytes())
	}
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/golden/" + name
	if *update {
		require.NoError(t, os.MkdirAll("testdata/golden", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run go test -update to make it")
	require.Equal(t, string(want), string(got), "%s; if the change is meant, run go test -update and look at it", name)
}
