package decode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	marked   = "marked CE: a switch on the way was congested"
	slowdown = "QP 0x10 of 10.0.0.1 is to send more slowly: "
)

// mark sets CE on an Ethernet frame with IPv4, as a switch does but for the checksum,
// at which nobody looks here.
func mark(r *Record) *Record {
	r.Data[15] |= uint8(wire.CE)
	return r
}

// notify is a CNP of bob's to alice's QP 0x10.
func (c *connection) notify(change func(*bth.Packet)) *Record {
	p := bth.Packet{Opcode: bth.CNP, PKey: bth.DefaultPKey, DestQP: 0x10, BECN: true}
	if change != nil {
		change(&p)
	}
	return c.send(bob, alice, p, 0)
}

// later moves the newest packet away from the one before it.
func (t *tape) later(d time.Duration) {
	n := len(t.records)
	t.records[n-1].Time = t.records[n-2].Time.Add(d)
}

// pair lets the tape tell which queue pairs belong together.
func (c *connection) pair() {
	c.request(100)
	c.answer(bth.ACKUnlimited, 100, 1)
}

// A notification is told with the flow that it slows down and the mark that it answers,
// if the capture has one.
func TestCNPsAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		build func(c *connection)
		want  string
	}{
		"one mark": {func(c *connection) {
			c.pair()
			mark(c.request(101))
			c.notify(nil)
		}, marked + "\n" + slowdown + "packet 3 was marked, 10µs before"},
		"three marks": {func(c *connection) {
			c.pair()
			for psn := range bth.PSN(3) {
				mark(c.request(101 + psn))
			}
			c.notify(nil)
		}, marked + "\n" + marked + "\n" + marked + "\n" + slowdown + "packet 5 was marked, 10µs before, the last of 3"},
		"marked elsewhere": {func(c *connection) {
			c.pair()
			c.notify(nil)
		}, slowdown + "its packets are not marked where this was captured"},
		"marked elsewhere since": {func(c *connection) {
			c.pair()
			mark(c.request(101))
			c.notify(nil)
			c.notify(nil)
		}, marked + "\n" + slowdown + "packet 3 was marked, 10µs before\n" + slowdown + "none of its packets has been marked since the CNP before"},
		"sender unknown": {func(c *connection) { // nothing pairs the queue pairs
			mark(c.request(100))
			c.notify(nil)
		}, marked + "\n" + slowdown + "packet 1 was marked, 10µs before"},
		"another flow's mark": {func(c *connection) {
			c.pair()
			mark(c.request(101))
			c.notify(func(p *bth.Packet) { p.DestQP = 0x99 })
		}, marked + "\nQP 0x99 of 10.0.0.1 is to send more slowly: its packets are not marked where this was captured"},
		"marked ACK": {func(c *connection) {
			c.pair()
			mark(c.answer(bth.ACKUnlimited, 101, 2))
		}, marked + "; an acknowledgement is not answered with a CNP"},
		"marked CNP": {func(c *connection) {
			c.pair()
			mark(c.notify(nil))
		}, marked + "; a CNP is not answered with another; " + slowdown + "its packets are not marked where this was captured"},
	} {
		var tape connection
		c.build(&tape)
		require.Equal(t, c.want, words(tape.annotate()), name)
	}
}

// READ data are slowed down by notifications to the responder.
func TestCNPForREADData(t *testing.T) {
	var c connection
	c.send(alice, bob, bth.Packet{Opcode: bth.RCReadRequest, DestQP: 0x20, PSN: 7, RETH: bth.RETH{Len: 8}}, 0)
	mark(c.send(bob, alice, bth.Packet{Opcode: bth.RCReadRespOnly, DestQP: 0x10, PSN: 7}, 8))
	c.send(alice, bob, bth.Packet{Opcode: bth.CNP, DestQP: 0x20, BECN: true}, 0)
	require.Equal(t, marked+"\nQP 0x20 of 10.0.0.2 is to send more slowly: packet 2 was marked, 10µs before", words(c.annotate()))
}

// The least time between the CNPs of one flow is told, whatever other flows do; less
// than any adapter leaves is a finding.
func TestCNPSpacing(t *testing.T) {
	const hasty = "only 3µs after the flow's CNP before: ConnectX adapters leave 4µs by default"
	for _, c := range []struct {
		gaps  []time.Duration
		least time.Duration
		found int
	}{
		{[]time.Duration{0}, 0, 0},
		{[]time.Duration{0, 0}, 0, 0}, // the capture's clock stood still
		{[]time.Duration{0, 50 * time.Microsecond, 80 * time.Microsecond}, 50 * time.Microsecond, 0},
		{[]time.Duration{0, 4 * time.Microsecond}, 4 * time.Microsecond, 0},
		{[]time.Duration{0, 3 * time.Microsecond, 50 * time.Microsecond}, 3 * time.Microsecond, 1},
	} {
		var tape connection
		tape.pair()
		for _, gap := range c.gaps {
			tape.notify(nil)
			tape.later(gap)
			tape.notify(func(p *bth.Packet) { p.DestQP = 0x99 }) // at the same time
			tape.later(0)
		}
		packets, a := tape.annotateAll()
		require.Equal(t, Congestion{CNPs: 2 * len(c.gaps), MinGap: c.least}, a.Congestion(), "%v", c.gaps)
		var found int
		for _, p := range packets {
			for _, n := range p.Notes {
				if n.Kind == NoteCNPTooSoon {
					require.Equal(t, hasty, n.Text)
					require.True(t, p.Trouble())
					found++
				}
			}
		}
		require.Equal(t, 2*c.found, found, "%v", c.gaps)
	}
}

// The filter for marked packets takes all of them, whatever they are.
func TestMarkedPacketsAreChosen(t *testing.T) {
	var c connection
	c.request(100)
	mark(c.request(101))
	mark(c.answer(bth.ACKUnlimited, 101, 2))
	marks := op(t, "ce")
	var taken []int
	for _, p := range c.annotate() {
		if marks.Takes(p) {
			taken = append(taken, p.Number)
		}
	}
	require.Equal(t, []int{2, 3}, taken)
}

// Damaged CNPs are counted, but prove nothing.
func TestDamagedCNP(t *testing.T) {
	var c connection
	c.pair()
	mark(c.request(101))
	c.notify(nil).Data[48] ^= 1 // its destination queue pair
	c.notify(nil)
	packets, a := c.annotateAll()
	require.Contains(t, words(packets), slowdown+"packet 3 was marked, 20µs before")
	require.Equal(t, Congestion{Marked: 1, CNPs: 2}, a.Congestion())
}

// A congestion notification that a ConnectX sent, published with its bytes: it decodes,
// its ICRC is right, it is of the shape that annex A17 has, and tshark sees the same.
func TestCNPOfConnectX(t *testing.T) {
	const file = "testdata/adapters/connectx_cnp.pcap"
	packets, a := annotateFile(t, file)
	require.Len(t, packets, 1)
	p := packets[0]
	require.NoError(t, p.Err)
	require.Equal(t, ICRCGood, p.ICRC)
	require.Zero(t, p.BTH.PayloadLen())
	p.BTH.Payload = [2][]byte{}
	require.Equal(t, bth.Packet{Opcode: bth.CNP, PKey: bth.DefaultPKey, BECN: true, DestQP: 0x118}, p.BTH)
	require.Equal(t, uint8(48), p.TrafficClass>>2, "DSCP")
	require.Equal(t, "CNP for QP 0x118 ECT(0)", p.Label())
	require.Equal(t, "QP 0x118 of 10.0.18.1 is to send more slowly: its packets are not marked where this was captured", p.noteWords())
	require.Equal(t, Congestion{CNPs: 1}, a.Congestion())

	compared := compareWithTshark(t, readAll(t, file))
	require.Equal(t, comparison{packets: 1, fields: 12, words: 2}, compared)
}
