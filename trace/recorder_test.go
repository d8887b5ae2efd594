package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
)

// gate is a sink that stops at its first packet until it is opened.
type gate struct {
	arrived, open chan struct{}
	once          sync.Once
	packets       int
}

func newGate() *gate { return &gate{arrived: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) Device(string) error { return nil }
func (g *gate) Flush() error        { return nil }
func (g *gate) Close(Stats) error   { return nil }

func (g *gate) Packet(*Record) error {
	g.packets++
	g.once.Do(func() {
		close(g.arrived)
		<-g.open
	})
	return nil
}

// A full buffer costs packets but neither time nor truth: what is missing is
// counted, and every output says how much, where and why.
func TestOverflowIsTold(t *testing.T) {
	var b, lines, ladder bytes.Buffer
	g := newGate()
	const buffer = 64 << 10
	r := NewRecorder(buffer, g, NewPcapng(&b, time.Time{}), NewJSONLines(&lines, time.Time{}), NewLadder(&ladder, LadderOptions{}))
	tap := r.Device("a")
	send := func(psn int) {
		tap.Packet(sent(1000, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: bth.PSN(psn)}, 1024, 0))
	}
	send(0)
	<-g.arrived // the writer is busy with the first packet
	const more = 200
	for psn := range more {
		send(psn + 1)
	}
	lost := r.Stats().Devices[0].Lost
	close(g.open)
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	send(more + 1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	const frame = 12 + 1024 + 4
	if want := uint64(more - buffer/frame); lost != want {
		t.Errorf("%d packets lost, want %d", lost, want)
	}
	d := r.Stats().Devices[0]
	if d.Lost != lost || d.Recorded != 1+buffer/frame+1 || int(d.Recorded) != g.packets {
		t.Errorf("counted %+v, %d packets came to the sinks, %d lost", d, g.packets, lost)
	}

	c := mustRead(t, b.Bytes())
	last := c.packets[len(c.packets)-1].options
	words := fmt.Sprintf("%d packets are missing: the recorder's buffer was full", lost)
	if number(last[optDropCount]) != lost || !strings.Contains(last[optComment], words) {
		t.Errorf("the packet after the gap says %v", last)
	}
	end := c.statistics[0]
	if number(end[optDropped]) != lost || number(end[optReceived]) != more+2 || end[optComment] != words {
		t.Errorf("the capture's end says %v", end)
	}
	if n := strings.Count(lines.String(), fmt.Sprintf(`"lost":%d}`, lost)); n != 2 {
		t.Errorf("%d JSON lines tell of the %d lost packets, want the one after the gap and the last", n, lost)
	}
	if !strings.Contains(ladder.String(), "↺ "+words) {
		t.Errorf("the ladder does not say %q", words)
	}
}

// Packets after Close are lost, and counted; a second Close does no harm.
func TestClose(t *testing.T) {
	for name, r := range map[string]*Recorder{"with a goroutine": NewRecorder(1<<16, newOpenGate()), "synchronous": NewSync(newOpenGate())} {
		tap := r.Device("a")
		e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 8, 0)
		tap.Packet(e)
		for range 2 {
			if err := r.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		tap.Packet(e)
		if d := r.Stats().Devices[0]; d.Recorded != 1 || d.Lost != 1 {
			t.Errorf("%s: counted %+v, want one packet recorded and one lost", name, d)
		}
	}
}

func newOpenGate() *gate {
	g := newGate()
	close(g.open)
	return g
}

// Several devices with several goroutines each lose nothing and mix nothing up.
func TestConcurrentTaps(t *testing.T) {
	const devices, goroutines, packets = 3, 2, 200
	for name, start := range map[string]func(...Sink) *Recorder{
		"with a goroutine": func(s ...Sink) *Recorder { return NewRecorder(DefaultBuffer, s...) },
		"synchronous":      NewSync,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			r := start(NewPcapng(&b, time.Time{}))
			var wait sync.WaitGroup
			for d := range devices {
				tap := r.Device(fmt.Sprint("device ", d))
				for range goroutines {
					wait.Go(func() {
						for psn := range packets {
							e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: bth.PSN(psn)}, 32*d, 0)
							tap.Packet(e)
						}
					})
				}
			}
			wait.Wait()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			c := mustRead(t, b.Bytes())
			var count [devices]int
			for _, p := range c.packets {
				count[p.device]++
				if want := 20 + 8 + 12 + 32*int(p.device) + 4; len(p.data) != want {
					t.Fatalf("a packet of device %d has %d bytes, want %d", p.device, len(p.data), want)
				}
			}
			if want := goroutines * packets; count != [devices]int{want, want, want} {
				t.Errorf("%v packets, want %d of each", count, want)
			}
		})
	}
}

// fullDisk is a writer that fails after some bytes.
type fullDisk struct{ room int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A sink that fails ends with an error that says so; the others go on.
func TestFailingSinks(t *testing.T) {
	for name, broken := range map[string]Sink{
		"capture": NewPcapng(&fullDisk{5000}, time.Time{}),
		"JSON":    NewJSONLines(&fullDisk{5000}, time.Time{}),
		"ladder":  NewLadder(&fullDisk{}, LadderOptions{}),
	} {
		var b bytes.Buffer
		r := NewSync(broken, NewPcapng(&b, time.Time{}))
		conversation(r.Device("a"), r.Device("b"))
		for range 2 {
			if err := r.Close(); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "trace: writing") {
				t.Errorf("%s: closed with %v", name, err)
			}
		}
		if c := mustRead(t, b.Bytes()); len(c.packets) != int(r.Stats().Devices[0].Recorded+r.Stats().Devices[1].Recorded) {
			t.Errorf("%s: its failure cost the other sink packets", name)
		}
	}
}

// In steady state a tap allocates nothing.
func TestTapDoesNotAllocate(t *testing.T) {
	r := NewRecorder(DefaultBuffer, newOpenGate())
	defer r.Close()
	tap := r.Device("a")
	e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 1024, 0)
	if n := testing.AllocsPerRun(2000, func() { tap.Packet(e) }); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
	if d := r.Stats().Devices[0]; d.Lost != 0 {
		t.Errorf("the measurement overran the buffer: %+v", d)
	}
}

// The cost that a device pays per packet that is recorded. The clock stands still
// while the writer empties the buffer.
func BenchmarkTap(b *testing.B) {
	for _, payload := range []int{0, 64, 1024, 4096} {
		b.Run(fmt.Sprintf("payload=%d", payload), func(b *testing.B) {
			r := NewRecorder(DefaultBuffer, newOpenGate())
			defer r.Close()
			tap := r.Device("a")
			e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, payload, 0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tap.Packet(e)
				if i%1000 == 999 {
					b.StopTimer()
					_ = r.Flush()
					b.StartTimer()
				}
			}
			if lost := r.Stats().Lost(); lost != 0 {
				b.Errorf("%d packets were only counted", lost)
			}
		})
	}
}

// The cost of writing a packet, which the recorder's goroutine pays.
func BenchmarkSinks(b *testing.B) {
	for name, s := range map[string]Sink{
		"pcapng": NewPcapng(discard{}, time.Time{}),
		"json":   NewJSONLines(discard{}, time.Time{}),
		"ladder": NewLadder(discard{}, LadderOptions{}),
	} {
		b.Run(name, func(b *testing.B) {
			r := NewSync(s)
			tap := r.Device("a")
			e := sent(0, true, bth.Packet{Opcode: bth.RCSendOnly}, 1024, 0)
			b.ReportAllocs()
			for b.Loop() {
				tap.Packet(e)
			}
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
