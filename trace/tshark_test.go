package trace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// tshark reads a capture and returns the fields of each packet. The heuristic for
// RPC over RDMA, which takes any SEND for its own, is off.
func tshark(t *testing.T, file string, fields ...string) (packets [][]string) {
	t.Helper()
	args := []string{"-r", file, "-o", "ip.check_checksum:TRUE", "--disable-heuristic", "rpcrdma_infiniband", "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, &stderr)
	}
	for line := range strings.Lines(string(out)) {
		packets = append(packets, strings.Split(strings.TrimRight(line, "\n"), "\t"))
	}
	return packets
}

// The foreign reader finds in the capture what we put in, packet by packet, and
// calls nothing malformed that was not.
func TestTsharkReadsTheCapture(t *testing.T) {
	testenv.Need(t, testenv.Tshark)
	var b bytes.Buffer
	type told struct {
		device string
		event  Event
	}
	var story []told
	r := NewSync(NewPcapng(&b, time.Unix(1_000_000, 0)))
	device := func(name string) Tap {
		tap := r.Device(name)
		return tapFunc(func(e *Event) { story = append(story, told{name, *e}); tap.Packet(e) })
	}
	conversation(device("a"), device("b"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trace.pcapng")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}

	packets := tshark(t, file, "frame.comment", "frame.interface_name", "frame.packet_flags_direction",
		"frame.time_epoch", "udp.dstport", "ip.id", "ip.checksum.status",
		"infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
		"infiniband.reth.dmalen", "infiniband.aeth.msn", "_ws.malformed")
	if len(packets) != len(story) {
		t.Fatalf("tshark sees %d packets, want %d", len(packets), len(story))
	}
	for i, s := range story {
		want := fieldsOf(s.device, &s.event)
		if got := strings.Join(packets[i], " | "); got != want {
			t.Errorf("packet %d\ngot  %s\nwant %s", i+1, got, want)
		}
	}
}

// fieldsOf is what tshark should say of an event.
func fieldsOf(device string, e *Event) string {
	r := Record{Event: *e}
	r.Frame = [][]byte{bytes.Join(e.Frame, nil)}
	r.parse()
	p, f := &r.Packet, r.Packet.Opcode.Flags()

	direction := "0x00000001"
	if e.Dir == Out {
		direction = "0x00000002"
	}
	id, sum, opcode, psn, qp, length, msn, malformed := "", "", "", "", "", "", "", ""
	if e.Src.Is4() {
		id, sum = fmt.Sprintf("0x%04x", e.ID), "1"
	}
	if len(r.Bytes()) >= bth.BTHLen {
		opcode, psn, qp = fmt.Sprint(uint8(p.Opcode)), p.PSN.String(), fmt.Sprintf("0x%06x", p.DestQP)
	} else {
		malformed = "[Malformed Packet: IB],_ws.malformed"
	}
	if f&bth.HasRETH != 0 {
		length = fmt.Sprint(p.RETH.Len)
	}
	if f&bth.HasAETH != 0 {
		msn = fmt.Sprint(p.AETH.MSN)
	}
	return strings.Join([]string{
		e.Why(), device, direction, fmt.Sprintf("1000000.%09d", int64(e.Time)), "4791", id, sum,
		opcode, psn, qp, length, msn, malformed,
	}, " | ")
}
