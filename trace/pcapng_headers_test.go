package trace

import (
	"bytes"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Of a capture of headers alone, payload is cut off behind the transport headers, the
// true lengths are told, and packets without payload are whole.
func TestHeadersOnly(t *testing.T) {
	const outer = wire.IPv4Len + wire.UDPLen
	write := bth.Packet{Opcode: bth.RCWriteFirst, PSN: 1, RETH: bth.RETH{VA: 0x1000, RKey: 7, Len: 2048}}
	broken := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 200, 0)
	broken.Frame[0][0] = 0x1f
	for name, c := range map[string]struct {
		event          *Event
		kept, original int
	}{
		"WRITE First": {sent(0, true, write, 1024, 0), outer + 12 + 16, outer + 12 + 16 + 1024 + 4},
		"padded SEND": {sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 5, 0), outer + 12, outer + 12 + 5 + 3 + 4},
		"empty SEND":  {sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 0, 0), outer + 12 + 4, outer + 12 + 4},
		"ACK":         {sent(0, true, bth.Packet{Opcode: bth.RCAcknowledge}, 0, 0), outer + 12 + 4 + 4, outer + 12 + 4 + 4},
		"CNP":         {sent(0, true, bth.Packet{Opcode: bth.CNP}, 0, 0), outer + 12 + 16 + 4, outer + 12 + 16 + 4},
		"broken":      {broken, outer + bth.MaxHeaderLen, outer + 12 + 200 + 4},
	} {
		var b bytes.Buffer
		r := NewSync(NewPcapng(&b, time.Time{}, HeadersOnly))
		r.Device("a").Packet(c.event)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		p := mustRead(t, b.Bytes()).packets[0]
		if len(p.data) != c.kept || int(p.original) != c.original {
			t.Errorf("%s: %d of %d bytes kept, want %d of %d", name, len(p.data), p.original, c.kept, c.original)
		}
		whole := bytes.Join(c.event.Frame, nil)
		if !bytes.Equal(p.data[outer:], whole[:len(p.data)-outer]) {
			t.Errorf("%s: what is kept is not the packet's beginning", name)
		}
		f, err := wire.ParseIP(append(p.data, make([]byte, c.original-c.kept)...))
		if err != nil || len(f.Payload) != len(whole) {
			t.Errorf("%s: the headers tell of %d bytes, want %d (%v)", name, len(f.Payload), len(whole), err)
		}
	}
}
