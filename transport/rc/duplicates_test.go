package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestDuplicateOfEveryPacket proves 9.7.4.1.2: a SEND or WRITE packet that comes again, whatever its
// place and whether or not it asks, places nothing, takes no receive and is acknowledged by
// the newest PSN with today's count; inside an unfinished message too.
func TestDuplicateOfEveryPacket(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm} {
		for _, n := range []int{0, 1, 3 * testMTU} {
			p := newPair(t, defaults())
			for i := range 3 {
				p.b.postRecv(uint64(i), 0, n)
			}
			p.a.fill(0, n, 1)
			p.a.post(p.ask(op, 0, n))
			sent := p.a.drain()
			for i, newest := range sent {
				p.b.say(newest)
				complete := uint32(0)
				if i == len(sent)-1 {
					complete = 1
				}
				clear(p.b.bytes(0, n))
				taken := len(p.b.recvs)
				for _, again := range sent[:i+1] {
					for _, asks := range []bool{true, false} {
						dup := *again
						dup.AckReq = asks
						require.Equal(t, transport.Repeated, p.b.recv(&dup).Action, "%s of %d: %s after %s", op, n, again, newest)
						p.b.requireAck(p.b.drain(), newest.PSN, complete, transport.CauseAckDuplicate)
					}
				}
				require.Equal(t, make([]byte, n), p.b.bytes(0, n))
				require.Len(t, p.b.recvs, taken)
			}
			require.Equal(t, qp.StateRTS, p.b.m.State())
		}
	}
}

// TestDuplicateRead proves 9.7.4.1.2 for READs: from every packet on the rest is read and sent
// again, any number of times, as the memory is now; what asks for something else than
// the original is dropped.
func TestDuplicateRead(t *testing.T) {
	const packets, n = 5, 4*testMTU + 7
	p := newPair(t, defaults())
	p.b.fill(0, n, 1)
	p.a.post(p.ask(qp.OpRead, 0, n))
	read := p.a.next()
	require.Len(t, p.b.say(read), packets)
	from := func(i int) *packet {
		r := *read
		r.PSN = r.PSN.Add(uint32(i))
		r.RETH.VA += uint64(i * testMTU)
		r.RETH.Len -= uint32(i * testMTU)
		return &r
	}
	for _, i := range []int{0, 3, 1, 4, 4, 2, 0} {
		want := p.b.fill(0, n, byte(10+i))
		var got []byte
		answers := p.b.say(from(i))
		for j, pkt := range answers {
			require.Equal(t, bth.PSN(100+i+j), pkt.PSN)
			require.Equal(t, transport.CauseReplay, pkt.why)
			got = append(got, pkt.Payload[0]...)
		}
		require.Len(t, answers, packets-i)
		require.Equal(t, want[i*testMTU:], got, "from packet %d", i)
	}
	for name, change := range map[string]func(r *packet){
		"before it":       func(r *packet) { r.RETH.VA-- },
		"elsewhere":       func(r *packet) { r.RETH.VA += testMTU },
		"more":            func(r *packet) { r.RETH.Len++ },
		"another key":     func(r *packet) { r.RETH.RKey ^= 1 },
		"end of 2^64":     func(r *packet) { r.RETH.VA = ^uint64(0) },
		"nothing, at all": func(r *packet) { r.RETH = bth.RETH{VA: 1, Len: 1 << 31} },
	} {
		r := from(2)
		change(r)
		require.Equal(t, transport.RuleMismatch, p.b.recv(r).Rule, name)
		require.Empty(t, p.b.drain(), name)
	}
	require.Equal(t, qp.StateRTS, p.b.m.State())
	require.Equal(t, transport.Executed, p.b.recv(readOf(p.b, 105)).Action, "new requests go on behind it")
}

// TestDuplicateReadOfAPart proves 9.7.4.1.2 where a READ comes again for a part that ends
// before the original does: that part is sent, and no more; but an answer that is under way
// is not cut short by it.
func TestDuplicateReadOfAPart(t *testing.T) {
	const n = 4*testMTU + 100
	p := newPair(t, defaults())
	want := p.b.fill(0, n, 1)
	p.a.post(p.ask(qp.OpRead, 0, n))
	read := p.a.next()
	part := func(first, length int) *packet {
		r := *read
		r.PSN = r.PSN.Add(uint32(first))
		r.RETH.VA += uint64(first * testMTU)
		r.RETH.Len = uint32(length)
		return &r
	}
	requireAnswer := func(answers []*packet, first, length int) {
		t.Helper()
		var got []byte
		for i, a := range answers {
			require.Equal(t, read.PSN.Add(uint32(first+i)), a.PSN)
			got = append(got, a.Payload[0]...)
		}
		require.Equal(t, want[first*testMTU:first*testMTU+length], got)
	}
	requireAnswer(p.b.say(read), 0, n)
	for _, c := range []struct{ first, length int }{{0, 1}, {1, testMTU}, {1, 2 * testMTU}, {2, testMTU + 5}, {4, 99}} {
		requireAnswer(p.b.say(part(c.first, c.length)), c.first, c.length)
	}
	require.Equal(t, transport.RuleMismatch, p.b.recv(part(1, 0)).Rule)
	requireAnswer(p.b.say(part(3, testMTU+100)), 3, testMTU+100)

	require.Equal(t, transport.Repeated, p.b.recv(read).Action)
	for i := range 3 {
		require.Equal(t, read.PSN.Add(uint32(i)), p.b.next().PSN)
	}
	require.Equal(t, transport.Repeated, p.b.recv(part(1, testMTU)).Action)
	requireAnswer(p.b.drain(), 1, n-testMTU)
}

// TestDuplicateAtomic proves R05 for both atomics, and 9.4.5: an atomic whose answer was
// lost is executed once, whatever came behind it; it is answered again, any number of times,
// with its saved result, its own PSN and today's MSN. When as many came behind it as the
// responder has resources, it is forgotten, and dropped in silence.
func TestDuplicateAtomic(t *testing.T) {
	for _, op := range []qp.Op{qp.OpFetchAdd, qp.OpCompareSwap} {
		for _, behind := range []int{0, 1, 19, 20, 31, 32, 40} {
			o := defaults()
			o.psnA, o.response, o.initiator = 7, 32, 32
			p := newPair(t, o)
			p.a.post(p.ask(op, 0, 8))
			lost := p.a.next()
			require.Len(t, p.b.say(lost), 1)
			require.EqualValues(t, 1, p.b.word(0))
			for i := range behind {
				p.b.say(p.b.onto(addTo(p.b, bth.PSN(8+i))))
			}
			for range 3 {
				again := p.b.say(lost)
				if behind >= 32 {
					require.Empty(t, again, "%s, %d behind it", op, behind)
					continue
				}
				require.Len(t, again, 1, "%s, %d behind it", op, behind)
				require.Equal(t, bth.RCAtomicAck, again[0].Opcode)
				require.Equal(t, bth.PSN(7), again[0].PSN)
				require.Zero(t, again[0].AtomicAck)
				require.EqualValues(t, 1+behind, again[0].AETH.MSN)
			}
			require.EqualValues(t, 1+behind, p.b.word(0), "executed once")
			require.Equal(t, qp.StateRTS, p.b.m.State())
		}
	}
}

// TestDuplicateOfAnotherKind proves that a PSN that comes again as another kind of request
// gets no answer that the first kind would have had: it is dropped, or as good as
// acknowledged, and executed never.
func TestDuplicateOfAnotherKind(t *testing.T) {
	p := newPair(t, defaults())
	for i, r := range []*packet{request(bth.RCWriteOnly, 100, 8), readOf(p.b, 101), addTo(p.b, 102)} {
		require.Equal(t, transport.Executed, p.b.recv(p.b.onto(r)).Action, i)
	}
	p.b.drain()
	was := p.b.word(0)
	for psn := bth.PSN(100); psn < 103; psn++ {
		for op := range bth.Opcode(0x20) {
			if op.Is(bth.Response) || psn == 101 && op == bth.RCReadRequest || psn == 102 && op.Is(bth.Atomic) {
				continue
			}
			v := p.b.recv(p.b.onto(request(op, psn, 8)))
			require.NotEqual(t, transport.Executed, v.Action, "%s at PSN %d", op, psn)
			for _, pkt := range p.b.drain() {
				require.Equal(t, bth.RCAcknowledge, pkt.Opcode)
				require.Equal(t, bth.PSN(100), pkt.PSN, "the newest SEND or WRITE")
			}
		}
	}
	require.Equal(t, was, p.b.word(0))
	require.Equal(t, qp.StateRTS, p.b.m.State())
}

// TestDuplicatesInProgressAreCheap proves that an adapter that repeats after 2 ms what is still
// being answered (ConnectX, adaptive retransmission) costs next to nothing: in a turn, a
// hundred copies of SENDs and WRITEs are one acknowledgement, of a READ or atomic one
// answer; and of a READ whose end is still to be sent, what is repeated of that is nothing.
func TestDuplicatesInProgressAreCheap(t *testing.T) {
	const n = 40 * testMTU
	for _, op := range wireOps {
		p := newPair(t, defaults())
		p.b.postRecv(1, 0, n)
		p.a.post(p.ask(op, 0, n))
		sent := p.a.drain()
		answer := map[bool]int{true: 40, false: 1}[op == qp.OpRead]
		p.b.hear(sent...)
		for range 100 {
			p.b.hear(sent...)
		}
		require.Len(t, p.b.drain(), answer, "%s", op)
		require.LessOrEqual(t, len(p.b.recvs), 1, "%s", op)
	}
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpRead, 0, n))
	read := p.a.next()
	p.b.recv(read)
	for range 39 {
		require.NotNil(t, p.b.next())
		read.PSN, read.RETH.VA, read.RETH.Len = read.PSN.Add(1), read.RETH.VA+testMTU, read.RETH.Len-testMTU
		require.Equal(t, transport.RuleDuplicateRead, p.b.recv(read).Rule)
	}
	require.Len(t, p.b.drain(), 1)
	require.EqualValues(t, 40, p.b.m.Stats().PacketsSent)
}

// TestDuplicateReadSkipsNothing proves that a READ which is asked for again from a packet on that
// is still to come is answered as it would have been: no packet before that is left out.
func TestDuplicateReadSkipsNothing(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpRead, 0, 6*testMTU))
	read := p.a.next()
	p.b.recv(read)
	p.b.next()
	p.b.next()
	read.PSN, read.RETH.VA, read.RETH.Len = read.PSN.Add(4), read.RETH.VA+4*testMTU, read.RETH.Len-4*testMTU
	require.Equal(t, transport.RuleDuplicateRead, p.b.recv(read).Rule)
	require.Equal(t, []bth.PSN{102, 103, 104, 105}, psnsOf(p.b.drain()))
}

// TestDuplicateReadOfClosedRegion proves that a READ which comes again after it was answered in full, and
// after its region was closed, does no harm: adapters send such duplicates, and who closes
// a region has heard from the peer that it has its data. One that was never answered in full
// is refused.
func TestDuplicateReadOfClosedRegion(t *testing.T) {
	for name, closed := range map[string]func(p *pair, read *packet){
		"before it comes again": func(p *pair, read *packet) { p.b.table.Deregister(p.b.mem); p.b.recv(read) },
		"before it is answered": func(p *pair, read *packet) { p.b.recv(read); p.b.table.Deregister(p.b.mem) },
		"in the middle of it":   func(p *pair, read *packet) { p.b.recv(read); p.b.next(); p.b.table.Deregister(p.b.mem) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			p.a.post(p.ask(qp.OpRead, 0, 3*testMTU))
			read := p.a.next()
			require.Len(t, p.b.say(read), 3)
			closed(p, read)
			require.Empty(t, p.b.drain())
			require.Equal(t, qp.StateRTS, p.b.m.State())
			require.Equal(t, transport.RuleForgotten, p.b.recv(read).Rule)
		})
	}
}
