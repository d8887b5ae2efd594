package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// capture is what a small reader of pcapng finds in a file.
type capture struct {
	interfaces []map[uint16]string
	packets    []packetBlock
	statistics []map[uint16]string // by interface
}

type packetBlock struct {
	device   uint32
	time     uint64
	original uint32
	data     []byte
	options  map[uint16]string
}

var errBlock = errors.New("block lengths are wrong")

// readCapture reads little-endian pcapng and checks every length in it.
func readCapture(b []byte) (c capture, err error) {
	le := binary.LittleEndian
	for len(b) > 0 {
		if len(b) < 12 {
			return c, errBlock
		}
		kind, n := le.Uint32(b), le.Uint32(b[4:])
		if n%4 != 0 || n < 12 || int(n) > len(b) || le.Uint32(b[n-4:]) != n {
			return c, errBlock
		}
		body := b[8 : n-4]
		b = b[n:]
		switch kind {
		case blockSection:
			if le.Uint32(body) != byteOrderMagic {
				return c, errBlock
			}
		case blockInterface:
			c.interfaces = append(c.interfaces, readOptions(body[8:]))
		case blockStatistics:
			c.statistics = append(c.statistics, readOptions(body[12:]))
		case blockPacket:
			p := packetBlock{device: le.Uint32(body), original: le.Uint32(body[16:])}
			p.time = uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:]))
			kept := int(le.Uint32(body[12:]))
			p.data = body[20 : 20+kept]
			p.options = readOptions(body[20+(kept+3)&^3:])
			c.packets = append(c.packets, p)
		}
	}
	return c, nil
}

func readOptions(b []byte) map[uint16]string {
	m := make(map[uint16]string)
	for binary.LittleEndian.Uint16(b) != optEnd {
		n := int(binary.LittleEndian.Uint16(b[2:]))
		m[binary.LittleEndian.Uint16(b)] = string(b[4 : 4+n])
		b = b[4+(n+3)&^3:]
	}
	return m
}

func number(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

func mustRead(t *testing.T, b []byte) capture {
	t.Helper()
	c, err := readCapture(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Everything that devices told of is in the file, dropped packets with their
// reason (T01), under the device's name, with direction and time.
func TestPcapngIsComplete(t *testing.T) {
	var b bytes.Buffer
	var events []Event
	r := NewSync(NewPcapng(&b, time.Unix(1000, 0)))
	a, z := r.Device("a"), r.Device("b")
	note := func(tap Tap) Tap {
		return tapFunc(func(e *Event) { events = append(events, *e); tap.Packet(e) })
	}
	conversation(note(a), note(z))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, b.Bytes())

	if len(c.interfaces) != 2 || c.interfaces[0][optInterfaceName] != "a" || c.interfaces[1][optInterfaceName] != "b" {
		t.Errorf("interfaces are %v", c.interfaces)
	}
	if len(c.packets) != len(events) {
		t.Fatalf("%d packets in the file, %d events", len(c.packets), len(events))
	}
	dropped := 0
	for i, p := range c.packets {
		e := &events[i]
		if e.Verdict.Action == transport.Dropped && e.Dir == In {
			dropped++
		}
		if p.options[optComment] != e.Why() {
			t.Errorf("packet %d says %q, want %q", i, p.options[optComment], e.Why())
		}
		if p.time != 1000e9+uint64(e.Time) {
			t.Errorf("packet %d at %d ns, want %v after the epoch", i, p.time, e.Time)
		}
		if got := number(p.options[optFlags]) == flagOutbound; got != (e.Dir == Out) {
			t.Errorf("packet %d has the wrong direction", i)
		}
		checkFrame(t, i, p.data, e)
	}
	if dropped != 3 {
		t.Errorf("%d dropped packets with their reason, want 3", dropped)
	}
	recorded := number(c.statistics[0][optReceived]) + number(c.statistics[1][optReceived])
	if recorded != uint64(len(events)) {
		t.Errorf("statistics count %d packets, want %d", recorded, len(events))
	}
}

type tapFunc func(e *Event)

func (f tapFunc) Packet(e *Event) { f(e) }

// checkFrame parses a rebuilt packet: the fields that the ICRC covers are those of
// the event, and the header checksum is right.
func checkFrame(t *testing.T, i int, data []byte, e *Event) {
	t.Helper()
	f, err := wire.ParseIP(data)
	if err != nil {
		t.Errorf("packet %d: %v", i, err)
		return
	}
	want := bytes.Join(e.Frame, nil)
	if !bytes.Equal(f.Payload, want) || f.Src != e.Src || f.Dst != e.Dst ||
		f.SrcPort != e.SrcPort || f.DstPort != wire.Port || f.TrafficClass != e.TrafficClass {
		t.Errorf("packet %d: %+v from %+v", i, f.Headers, e)
	}
	if !e.Src.Is4() {
		return
	}
	if f.ID != e.ID || f.Flags != e.Flags {
		t.Errorf("packet %d: ID %d, flags %#x, want %d, %#x", i, f.ID, f.Flags, e.ID, e.Flags)
	}
	var sum uint32
	for j := 0; j < wire.IPv4Len; j += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[j:]))
	}
	if sum>>16+sum&0xffff != 0xffff {
		t.Errorf("packet %d: IPv4 header checksum is wrong", i)
	}
}

// The headers in the file are those that the ICRC was sealed with.
func TestRebuiltHeadersFitTheICRC(t *testing.T) {
	for _, path := range []wire.Path{
		{Src: addrA, Dst: addrB, SrcPort: 50000, TrafficClass: 0x68},
		{Src: addrX, Dst: addrX.Next(), SrcPort: 50000, TrafficClass: 0x68},
	} {
		path.Prepare()
		e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: 7}, 61, 0)
		e.Src, e.Dst, e.SrcPort, e.TrafficClass, e.ID = path.Src, path.Dst, path.SrcPort, path.TrafficClass, 0xbeef
		body := e.Frame[1]
		path.Seal(e.ID, e.Frame[0], [][]byte{body[:61]}, body[61:])

		var b bytes.Buffer
		r := NewSync(NewPcapng(&b, time.Time{}))
		r.Device("a").Packet(e)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := wire.ParseIP(mustRead(t, b.Bytes()).packets[0].data)
		if err != nil {
			t.Fatal(err)
		}
		if !wire.VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, f.ID, [2][]byte{f.Payload}) {
			t.Errorf("%v: the ICRC does not fit the rebuilt headers %+v", path.Src, f.Headers)
		}
	}
}

// Whatever the network or a broken caller brings, every sink copes and the file
// stays readable.
func TestHostileEvents(t *testing.T) {
	var events []*Event
	add := func(change func(e *Event)) {
		e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: 1}, 8, 0)
		change(e)
		events = append(events, e)
	}
	for n := range 80 {
		add(func(e *Event) { e.Frame = [][]byte{bytes.Repeat([]byte{0xff}, n)} })
		add(func(e *Event) { e.Frame = [][]byte{bytes.Repeat([]byte{byte(n)}, n)} })
	}
	for opcode := range 256 {
		add(func(e *Event) { e.Frame[0][0] = byte(opcode) })
	}
	for v := range 256 {
		add(func(e *Event) {
			e.Dir, e.ICRC, e.Cause = Direction(v), wire.ICRC(v), transport.Cause(v)
			e.Verdict = transport.Verdict{Action: transport.Action(v), Rule: transport.Rule(v)}
		})
	}
	add(func(e *Event) { e.Frame = nil })
	add(func(e *Event) { e.Frame = make([][]byte, 5) })
	add(func(e *Event) { e.Src, e.Dst = addrX, addrA })
	add(func(e *Event) { e.Src, e.Dst = addrA, addrX.WithZone("eth0") })
	add(func(e *Event) { *e = Event{} })
	for _, at := range []clock.Time{-1, clock.Never, -clock.Never - 1} {
		add(func(e *Event) { e.Time = at })
	}
	add(func(e *Event) { e.Frame = [][]byte{make([]byte, 65507)} })
	large := len(events)
	add(func(e *Event) { e.Frame = [][]byte{make([]byte, 65508)} })   // more than IPv4 can carry
	add(func(e *Event) { e.Frame = [][]byte{make([]byte, 100_000)} }) // more than the buffer

	var b, lines, ladder bytes.Buffer
	r := NewSync(NewPcapng(&b, time.Time{}), NewJSONLines(&lines, time.Time{}), NewLadder(&ladder, LadderOptions{}))
	tap := r.Device("\xff\x00a\n\x1b[31m" + string(make([]byte, 9000)))
	for _, e := range events {
		tap.Packet(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, b.Bytes())
	if len(c.packets) != len(events)-1 || r.Stats().Lost() != 1 {
		t.Errorf("%d packets in the file and %d lost, of %d", len(c.packets), r.Stats().Lost(), len(events))
	}
	if p := c.packets[large]; len(p.data) != 65535 || p.original != 65536 {
		t.Errorf("a packet too long for IP is kept in %d bytes of %d, want 65535 of 65536", len(p.data), p.original)
	}
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != len(events)-1+1 {
		t.Errorf("%d JSON lines, want %d", n, len(events))
	}
	if bytes.ContainsAny(ladder.Bytes(), "\x1b\x00") {
		t.Error("control characters in the ladder")
	}
}
