package decode

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// annotateFile decodes and annotates a capture file.
func annotateFile(t testing.TB, name string) ([]*Packet, *Annotator) {
	t.Helper()
	packets, _ := decodeFile(t, name)
	pairs := NewPairs()
	for _, p := range packets {
		pairs.Learn(p)
	}
	a := NewAnnotator(pairs)
	for _, p := range packets {
		a.Annotate(p)
	}
	return packets, a
}

// Kernels derive the UDP source port of a connection without a flow label from both
// queue pair numbers. So the port proves the pairs that are learned from answers
// alone, with the ports hidden.
func TestAnswersTellPairs(t *testing.T) {
	var proved int
	for _, name := range captureFiles(t) {
		packets, _ := decodeFile(t, name)
		if slices.ContainsFunc(packets, func(p *Packet) bool { return p.CM != nil }) {
			continue // its ports come from the connection manager's flow label
		}
		pairs := NewPairs()
		for _, p := range packets {
			hidden := *p
			hidden.SrcPort = 4791
			pairs.Learn(&hidden)
		}
		for _, p := range packets {
			if q := pairs.peer(routeOf(p)); q.Known {
				require.Equal(t, wire.SourcePort(q.N, p.BTH.DestQP), p.SrcPort, "%s packet %d", name, p.Number)
				proved++
			}
		}
	}
	require.Equal(t, 928, proved, "packets whose port proves the pair")
}

// Every sender of every connected packet is found.
func TestSendersAreFound(t *testing.T) {
	var found int
	for _, name := range captureFiles(t) {
		packets, _ := annotateFile(t, name)
		for _, p := range packets {
			if !strings.HasSuffix(name, "vt_err_timeout.pcap") {
				require.True(t, p.SrcQP.Known, "%s packet %d: sender unknown", name, p.Number)
				found++
			}
		}
	}
	require.Equal(t, 1503-12, found)
}

// A peer that never answers stays unknown: nothing in the capture names it.
func TestUnansweredPeerIsUnknown(t *testing.T) {
	packets, _ := annotateFile(t, "testdata/captures/vt_err_timeout.pcap")
	require.Len(t, packets, 12)
	for _, p := range packets {
		require.False(t, p.SrcQP.Known, "packet %d", p.Number)
	}
}

// Captures without loss have no note of trouble; the others have exactly these.
func TestNotesOfCaptures(t *testing.T) {
	want := map[string]map[NoteKind]int{
		"dup_write_bw_netem.pcap":   {NoteDuplicate: 11, NoteRetransmission: 4}, // 26 packets for 15; four ACKs repeated
		"ib_send_bw_rnr.pcap":       {NoteRNR: 6, NoteNAK: 6, NoteRetransmission: 24},
		"loss_atomic_resp.pcap":     {NoteRetransmission: 24},
		"loss_rc_pingpong_nth.pcap": {NoteNAK: 8, NoteRetransmission: 40},
		"loss_read_bw_resp.pcap":    {NoteRetransmission: 49},
		"loss_send_bw_netem.pcap":   {NoteNAK: 4, NoteGap: 10, NoteRetransmission: 35},
		"loss_write_bw_req.pcap":    {NoteNAK: 5, NoteRetransmission: 36},
		"vt_err_rnr.pcap":           {NoteRNR: 3, NoteRetransmission: 2},
		"vt_err_rnr_once.pcap":      {NoteRNR: 1, NoteRetransmission: 1},
		"vt_err_send_toolong.pcap":  {NoteNAK: 1},
		"vt_err_timeout.pcap":       {NoteRetransmission: 9}, // four times three packets
		"vt_err_write_range.pcap":   {NoteNAK: 1},
		"vt_err_write_rkey.pcap":    {NoteNAK: 1},
	}
	for _, name := range captureFiles(t) {
		packets, _ := annotateFile(t, name)
		got := make(map[NoteKind]int)
		for _, p := range packets {
			for _, n := range p.Notes {
				got[n.Kind]++
			}
		}
		expected := want[filepath.Base(name)]
		if expected == nil {
			expected = map[NoteKind]int{}
		}
		require.Equal(t, expected, got, name)
	}
}

// The packets that a NAK shows to be lost are among those that the receiver's
// firewall dropped: every sixth (seventh) packet to it.
func TestLostPacketsAreTheDroppedOnes(t *testing.T) {
	for _, c := range []struct {
		name         string
		every, index int
		lost         int
	}{
		{"loss_rc_pingpong_nth.pcap", 6, 2, 8},
		{"loss_write_bw_req.pcap", 7, 3, 5},
	} {
		packets, a := annotateFile(t, "testdata/captures/"+c.name)
		dropped := make(map[int]bool)
		seen := make(map[string]int)
		for _, p := range packets {
			to := p.Dst.String()
			dropped[p.Number] = seen[to]%c.every == c.index
			seen[to]++
		}
		for n := range a.Lost() {
			require.True(t, dropped[n], "%s: packet %d was not dropped", c.name, n)
		}
		require.Len(t, a.Lost(), c.lost, c.name)
	}
}

// connection builds a tape of SENDs from alice to QP 0x20 and of bob's answers to
// QP 0x10.
type connection struct{ tape }

func (c *connection) request(psn bth.PSN) *Record {
	return c.send(alice, bob, bth.Packet{Opcode: bth.RCSendOnly, PKey: bth.DefaultPKey, DestQP: 0x20, PSN: psn, AckReq: true}, 8)
}

func (c *connection) answer(s bth.Syndrome, psn bth.PSN, msn uint32) *Record {
	return c.send(bob, alice, bth.Packet{
		Opcode: bth.RCAcknowledge, PKey: bth.DefaultPKey, DestQP: 0x10, PSN: psn, AETH: bth.AETH{Syndrome: s, MSN: msn},
	}, 0)
}

// words joins the notes of all packets.
func words(packets []*Packet) string {
	var all []string
	for _, p := range packets {
		if w := p.noteWords(); w != "" {
			all = append(all, w)
		}
	}
	return strings.Join(all, "\n")
}

// I06: a NAK although the capture shows every PSN has five causes; each is named.
func TestNAKCauses(t *testing.T) {
	for name, c := range map[string]struct {
		build func(c *connection)
		want  string
	}{
		"reordered by one": {func(c *connection) {
			c.request(6)
			c.request(5)
			c.answer(bth.NAKSequence, 5, 1)
		}, "gap: PSN 5 is missing before it\nout of order: belongs before 3\n" +
			"asks for PSN 5 again: 4 came out of order, after 3"},
		"duplicate": {func(c *connection) {
			c.request(5)
			r := c.request(6)
			c.add(r.Data)
			c.answer(bth.ACKUnlimited, 6, 3)
		}, "duplicate of 4: copied by the network, or captured twice\ncompletes 2 messages at once"},
		"bad ICRC": {func(c *connection) {
			r := c.request(5)
			r.Data[len(r.Data)-6] ^= 1
			c.request(6)
			c.answer(bth.NAKSequence, 5, 1)
		}, "ICRC bad: damaged, or its addresses changed in flight; a receiver drops it\n" +
			"asks for PSN 5 again: 3 was damaged (bad ICRC)"},
		"wrong QP": {func(c *connection) {
			r := c.request(5)
			p := *Decode(r)
			p.BTH.DestQP = 0x99
			r.Data = seal(p.Headers, p.BTH, p.BTH.Payload[0])
			c.request(6)
			c.answer(bth.NAKSequence, 5, 1)
		}, "gap: PSN 5 is missing before it\nasks for PSN 5 again: 3 carried it to another queue pair, 0x99"},
		"missing": {func(c *connection) {
			c.request(6)
			c.answer(bth.NAKSequence, 5, 1)
		}, "gap: PSN 5 is missing before it\nasks for PSN 5 again: it got lost before the capture point"},
		"lost later": {func(c *connection) {
			c.request(5)
			c.request(6)
			c.answer(bth.NAKSequence, 5, 1)
			c.request(5)
		}, "asks for PSN 5 again: 3 passed the capture point and got lost behind it\n" +
			"retransmission of 3, 30µs later"},
	} {
		t.Run(name, func(t *testing.T) {
			var conn connection
			conn.request(4)
			conn.answer(bth.ACKUnlimited, 4, 1)
			c.build(&conn)
			packets := conn.annotate()
			require.Equal(t, c.want, words(packets))
			require.Equal(t, QPN{0x10, true}, packets[0].SrcQP)
		})
	}
}

// Two connections between the same hosts, one request each: the answer's PSN tells
// them apart; with equal PSNs nothing does, and no pair is better than a wrong one.
func TestAmbiguousPairsStayUnknown(t *testing.T) {
	build := func(other bth.PSN) []*Packet {
		var c connection
		c.request(100)
		c.send(alice, bob, bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x21, PSN: other}, 8)
		c.answer(bth.ACKUnlimited, 100, 1)
		return c.annotate()
	}
	require.Equal(t, QPN{0x20, true}, build(7000)[2].SrcQP)
	require.Equal(t, QPN{}, build(100)[2].SrcQP)
}

// A repetition in IPv6, which has no identification, right behind the first: the
// capture cannot tell who made it. Later it can.
func TestRepetitionWithoutIdentification(t *testing.T) {
	var c tape
	src, dst := netip6("fd00::1"), netip6("fd00::2")
	p := bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x20, PSN: 9}
	c.send(src, dst, p, 4)
	c.send(src, dst, p, 4)
	c.send(src, dst, p, 4).Time = dawn.Add(70 * time.Millisecond)
	require.Equal(t, "repeats 1: a retransmission, or a copy made by the network\n"+
		"retransmission of 2, 69.99ms later", words(c.annotate()))
}

// READ requests take as many PSNs as their answer has packets. The MTU that tells
// how many is learned from the answer, or taken to be any.
func TestReadTakesPSNs(t *testing.T) {
	read := func(psn bth.PSN, n uint32) bth.Packet {
		return bth.Packet{Opcode: bth.RCReadRequest, DestQP: 0x20, PSN: psn, RETH: bth.RETH{Len: n}}
	}
	var unknown tape
	unknown.send(alice, bob, read(10, 3000), 0)
	unknown.send(alice, bob, read(13, 3000), 0) // MTU 1024
	unknown.send(alice, bob, read(25, 3000), 0) // MTU 256
	require.Empty(t, words(unknown.annotate()))

	var known tape
	known.send(alice, bob, read(10, 3000), 0)
	known.send(bob, alice, bth.Packet{Opcode: bth.RCReadRespFirst, DestQP: 0x10, PSN: 10, AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}}, 1024)
	known.send(bob, alice, bth.Packet{Opcode: bth.RCReadRespLast, DestQP: 0x10, PSN: 12, AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}}, 952)
	known.send(alice, bob, read(22, 3000), 0)
	require.Equal(t, "gap: PSN 11 is missing before it\ngap: PSN 13 to 21 (9 packets) are missing before it", words(known.annotate()))
}

// Queue pair numbers used again by another connection begin anew, message count
// included.
func TestRestart(t *testing.T) {
	var c connection
	c.request(100)
	c.answer(bth.ACKUnlimited, 100, 70)
	c.request(9_000_000)
	c.answer(bth.ACKUnlimited, 9_000_000, 1)
	require.Equal(t, "PSN jumps from 101: another connection, or much is missing", words(c.annotate()))
}
