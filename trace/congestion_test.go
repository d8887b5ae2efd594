package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// arrived is a packet of device a as b received it, with this ECN field.
func arrived(p bth.Packet, ecn wire.ECN, v transport.Verdict) *Event {
	e := received(0, sent(0, true, p, 8, 0), v)
	e.TrafficClass = uint8(ecn)
	return e
}

// What a mark asks for depends on what the packet is: data of any kind is worth a
// notification, an acknowledgement or a notification is not, nor is what was dropped.
func TestMarksAreExplained(t *testing.T) {
	const (
		mark  = "; marked CE by a switch on the way"
		owed  = mark + ": if CNPs are sent, the sender is owed one, unless one left within the interval"
		count = mark + ": only counted, there is no data to slow down"
		told  = "; a switch on the way to 10.0.0.1 marks what this queue pair sends"
	)
	obeyed := transport.Verdict{Action: transport.Advanced, Rule: transport.RuleCNP}
	ack := transport.Verdict{Action: transport.Advanced, Rule: transport.RuleAck}
	for _, c := range []struct {
		opcode bth.Opcode
		ecn    wire.ECN
		v      transport.Verdict
		want   string
	}{
		{bth.RCSendOnly, wire.ECT0, executed(1), ""},
		{bth.RCSendOnly, wire.NotECT, executed(1), ""},
		{bth.RCSendOnly, wire.CE, executed(1), owed},
		{bth.RCReadRequest, wire.CE, executed(1), owed},
		{bth.RCReadRespMiddle, wire.CE, ack, owed},
		{bth.RCAtomicAck, wire.CE, ack, owed},
		{bth.RCAcknowledge, wire.CE, ack, count},
		{bth.CNP, wire.NotECT, obeyed, told},
		{bth.CNP, wire.CE, obeyed, told + count},
		{bth.CNP, wire.CE, transport.Verdict{Rule: transport.RuleNoQP}, mark},
		{bth.RCSendOnly, wire.CE, transport.Verdict{Rule: transport.RuleNoQP}, mark},
	} {
		e := arrived(bth.Packet{Opcode: c.opcode, PSN: 1}, c.ecn, c.v)
		if got, want := e.Why(), "QP 0x12: "+c.v.String()+c.want; got != want {
			t.Errorf("%v, %v\ngot  %s\nwant %s", c.opcode, c.ecn, got, want)
		}
	}
}

// A notification names the queue pair that shall slow down, which is the sender of the
// marked packet.
func TestCNPsAreExplained(t *testing.T) {
	e := sent(0, false, bth.Packet{Opcode: bth.CNP, BECN: true}, 0, 0)
	if got, want := e.Why(), "QP 0x12: "+e.Cause.String()+"; QP 0x11 of 10.0.0.1 is to send more slowly"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Labels and JSON lines show the ECN field of packets that take part in congestion
// control, and only of those.
func TestECNIsShown(t *testing.T) {
	for ecn, want := range map[wire.ECN][2]string{
		wire.NotECT: {"SEND Only PSN 1 (8 B)", ""},
		wire.ECT0:   {"SEND Only PSN 1 (8 B) ECT(0)", `"ecn":"ECT(0)"`},
		wire.ECT1:   {"SEND Only PSN 1 (8 B) ECT(1)", `"ecn":"ECT(1)"`},
		wire.CE:     {"SEND Only PSN 1 (8 B) CE", `"ecn":"CE"`},
	} {
		var lines bytes.Buffer
		r := NewSync(NewJSONLines(&lines, time.Time{}))
		r.Device("b").Packet(arrived(bth.Packet{Opcode: bth.RCSendOnly, PSN: 1}, ecn, executed(1)))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(lines.String(), `"label":"`+want[0]+`"`) {
			t.Errorf("%v: no label %q in %s", ecn, want[0], &lines)
		}
		if want[1] == "" && strings.Contains(lines.String(), `"ecn"`) || !strings.Contains(lines.String(), want[1]) {
			t.Errorf("%v: want %s in %s", ecn, want[1], &lines)
		}
	}
}

// Through a tap of its own choice the recorder gets marked packets and CNPs, counts
// only them, and says nothing of lost packets.
func TestOnlyCongestionIsRecorded(t *testing.T) {
	var b bytes.Buffer
	r := NewSync(NewPcapng(&b, time.Time{}))
	tap := Only(r.Device("b"), Congestion)
	for _, e := range []*Event{
		arrived(bth.Packet{Opcode: bth.RCSendFirst, PSN: 1}, wire.ECT0, executed(1)),
		arrived(bth.Packet{Opcode: bth.RCSendMiddle, PSN: 2}, wire.CE, executed(2)),
		sent(0, false, bth.Packet{Opcode: bth.CNP}, 0, 0),
		sent(0, false, bth.Packet{Opcode: bth.RCAcknowledge, PSN: 2}, 0, 0),
		arrived(bth.Packet{Opcode: bth.RCAcknowledge, PSN: 3}, wire.CE, executed(3)),
		{Frame: [][]byte{{byte(bth.CNP)}}}, // too short to be one
		{},
	} {
		tap.Packet(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var opcodes []bth.Opcode
	for _, p := range mustRead(t, b.Bytes()).packets {
		opcodes = append(opcodes, bth.Opcode(p.data[wire.IPv4Len+wire.UDPLen]))
	}
	if len(opcodes) != 3 || opcodes[0] != bth.RCSendMiddle || opcodes[1] != bth.CNP || opcodes[2] != bth.RCAcknowledge {
		t.Errorf("recorded %v, want the marked SEND, the CNP and the marked ACK", opcodes)
	}
	if d := r.Stats().Devices[0]; d.Recorded != 3 || d.Lost != 0 {
		t.Errorf("counted %+v, want three packets and none lost", d)
	}
}
