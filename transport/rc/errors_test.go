package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestRefusals proves what the responder answers to each kind of bad request, and
// that both queue pairs end in ERR with the right completions (9.9.2.4.2, 9.9.3).
func TestRefusals(t *testing.T) {
	remote := func(op qp.Op, n int, change func(p *pair, wr *qp.SendWR)) func(*pair) qp.SendWR {
		return func(p *pair) qp.SendWR {
			wr := qp.SendWR{Op: op, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
			if op.Atomic() {
				wr.SGE = p.a.sge(0, 8)
			}
			change(p, &wr)
			return wr
		}
	}
	limited := func(access mr.Access, domain mr.PD) func(*pair, *qp.SendWR) {
		return func(p *pair, wr *qp.SendWR) {
			buf := make([]byte, 8192)
			r, err := p.b.table.Register(domain, buf, mr.Address(buf), access)
			require.NoError(p.t, err)
			wr.RemoteAddr, wr.RKey = r.Base(), r.LKey()
		}
	}
	badKey := func(_ *pair, wr *qp.SendWR) { wr.RKey ^= 0x100 }
	badRange := func(p *pair, wr *qp.SendWR) { wr.RemoteAddr = p.b.addr(memSize) - 7 }
	overflow := func(_ *pair, wr *qp.SendWR) { wr.RemoteAddr = ^uint64(0) - 7 }
	noAccess := func(a mr.Access) func(*options) { return func(o *options) { o.access = a } }

	type row struct {
		name     string
		wr       func(*pair) qp.SendWR
		options  func(*options)
		rule     transport.Rule
		syndrome bth.Syndrome
		status   cq.Status
	}
	var rows []row
	for _, op := range []qp.Op{qp.OpWrite, qp.OpRead, qp.OpFetchAdd, qp.OpCompareSwap} {
		need := map[qp.Op]mr.Access{qp.OpWrite: mr.RemoteWrite, qp.OpRead: mr.RemoteRead}[op]
		if need == 0 {
			need = mr.RemoteAtomic
		}
		access := func(rule transport.Rule) row {
			return row{rule: rule, syndrome: bth.NAKRemoteAccess, status: cq.StatusRemoteAccess}
		}
		add := func(name string, r row, change func(*pair, *qp.SendWR)) {
			r.name, r.wr = fmt.Sprintf("%s/%s", op, name), remote(op, 3000, change)
			rows = append(rows, r)
		}
		add("unknown key", access(transport.RuleKey), badKey)
		add("key 0", access(transport.RuleKey), func(_ *pair, wr *qp.SendWR) { wr.RKey = 0 })
		add("end out of range", access(transport.RuleRange), badRange)
		add("address overflow", access(transport.RuleRange), overflow)
		add("other PD", access(transport.RulePD), limited(allRight, pd+1))
		add("no right", access(transport.RuleAccess), limited(allRight&^need, pd))
		add("QP forbids it", row{options: noAccess(allRight &^ need), rule: transport.RuleNotPermitted, syndrome: bth.NAKInvalidRequest, status: cq.StatusRemoteInvalid}, func(*pair, *qp.SendWR) {})
	}
	rows = append(rows,
		row{
			name: "atomic misaligned", rule: transport.RuleMisaligned, syndrome: bth.NAKInvalidRequest, status: cq.StatusRemoteInvalid,
			wr: remote(qp.OpFetchAdd, 8, func(p *pair, wr *qp.SendWR) { wr.RemoteAddr += 4 }),
		},
		row{
			name: "no READ resources", rule: transport.RuleTooManyReads, syndrome: bth.NAKInvalidRequest, status: cq.StatusRemoteInvalid,
			options: func(o *options) { o.response = 0 }, wr: remote(qp.OpRead, 10, func(*pair, *qp.SendWR) {}),
		},
	)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			o := defaults()
			if r.options != nil {
				r.options(&o)
			}
			p := newPair(t, o)
			p.b.fill(0, 8192, 1)
			before := p.b.snapshot(0, memSize)
			p.b.postRecv(1, 0, 10)
			p.a.postRecv(2, 0, 10)
			p.a.post(r.wr(p))
			p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 1)})
			var naks []*packet
			p.lose = func(from *host, pkt *packet) bool {
				if from == p.b {
					naks = append(naks, pkt)
				}
				return false
			}
			p.settle()
			require.Len(t, naks, 1)
			require.Equal(t, r.syndrome, naks[0].AETH.Syndrome)
			require.Equal(t, bth.PSN(100), naks[0].PSN, "the NAK names the first packet")
			require.Zero(t, naks[0].AETH.MSN)
			p.a.requireSends(r.status, cq.StatusFlushed)
			p.a.requireRecvs(cq.StatusFlushed)
			p.b.requireRecvs(cq.StatusFlushed)
			require.Equal(t, before, p.b.snapshot(0, memSize), "nothing was written")
			f, failed := p.b.m.Failure()
			require.True(t, failed)
			require.Equal(t, r.rule, f.Rule)
			f, failed = p.a.m.Failure()
			require.True(t, failed)
			require.True(t, f.Remote)
			require.Equal(t, qp.StateErr, p.a.m.State())
			require.Equal(t, qp.StateErr, p.b.m.State())
		})
	}
}

// TestTooLong proves that a SEND longer than the posted receive is refused at the
// first packet that does not fit: 0x61, LOC_LEN here and REM_INV_REQ there.
func TestTooLong(t *testing.T) {
	for _, room := range []int{0, 1, testMTU - 1, testMTU, 2*testMTU + 1, 3*testMTU - 1} {
		p := newPair(t, defaults())
		p.b.postRecv(1, 0, room)
		p.b.postRecv(2, 0, 10)
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 3*testMTU)})
		p.settle()
		p.a.requireSends(cq.StatusRemoteInvalid)
		p.b.requireRecvs(cq.StatusLocalLength, cq.StatusFlushed)
	}
}

// TestLocalErrors proves that work whose own memory is not valid fails by itself,
// after the work before it, and that nothing of it is sent.
func TestLocalErrors(t *testing.T) {
	for name, sge := range map[string]func(*host) qp.SGE{
		"L_Key": func(h *host) qp.SGE { s := h.sge(0, 10); s.LKey ^= 0x100; return s },
		"range": func(h *host) qp.SGE { return h.sge(memSize-9, 10) },
	} {
		for _, op := range []qp.Op{qp.OpSend, qp.OpWrite, qp.OpRead} {
			t.Run(fmt.Sprintf("%s/%s", op, name), func(t *testing.T) {
				p := newPair(t, defaults())
				good := qp.SendWR{ID: 1, Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
				bad := good
				bad.ID, bad.Op, bad.SGE = 2, op, sge(p.a)
				p.a.post(good)
				p.a.post(bad)
				p.a.post(good)
				p.settle()
				p.a.requireSends(cq.StatusSuccess, cq.StatusLocalProtection, cq.StatusFlushed)
				require.Equal(t, qp.StateRTS, p.b.m.State(), "the peer saw nothing of it")
			})
		}
	}
}

// TestWrongLengths proves R25: the responder refuses packets whose length does not
// fit their opcode, and pads that do not fit their length.
func TestWrongLengths(t *testing.T) {
	first := func(op bth.Opcode, n int) *packet { return request(op, 100, n) }
	length := map[string][]*packet{
		"First short":       {first(bth.RCSendFirst, testMTU-4)},
		"First long":        {first(bth.RCSendFirst, testMTU+4)},
		"Middle short":      {first(bth.RCSendFirst, testMTU), request(bth.RCSendMiddle, 101, 8)},
		"Last empty":        {first(bth.RCSendFirst, testMTU), request(bth.RCSendLast, 101, 0)},
		"Last long":         {first(bth.RCSendFirst, testMTU), request(bth.RCSendLast, 101, testMTU+1)},
		"Only long":         {first(bth.RCSendOnly, testMTU+1)},
		"pad wrong":         {withPad(first(bth.RCSendOnly, 4), 1)},
		"pad missing":       {withPad(first(bth.RCSendOnly, 5), 0)},
		"READ with payload": {first(bth.RCReadRequest, 4)},
	}
	dmaLength := map[string][]*packet{
		"WRITE Only ≠ RETH": {withRETH(first(bth.RCWriteOnly, 8), 9)},
		"WRITE ends early":  {withRETH(first(bth.RCWriteFirst, testMTU), testMTU+9), request(bth.RCWriteLast, 101, 8)},
		"WRITE ends late":   {withRETH(first(bth.RCWriteFirst, testMTU), 2*testMTU), request(bth.RCWriteMiddle, 101, testMTU)},
		"WRITE First alone": {withRETH(first(bth.RCWriteFirst, testMTU), testMTU)},
		"RETH over 2^31":    {withRETH(first(bth.RCWriteFirst, testMTU), 1<<31+1)},
		"READ over 2^31":    {withRETH(first(bth.RCReadRequest, 0), 1<<31+1)},
	}
	refuseLast(t, transport.RuleLength, length)
	refuseLast(t, transport.RuleDMALength, dmaLength)
}

// TestWrongSequence proves the opcode sequence rules, reserved and unsupported
// operations included (W09).
func TestWrongSequence(t *testing.T) {
	send := request(bth.RCSendFirst, 100, testMTU)
	write := withRETH(request(bth.RCWriteFirst, 100, testMTU), 3*testMTU)
	refuseLast(t, transport.RuleSequence, map[string][]*packet{
		"Middle first":      {request(bth.RCSendMiddle, 100, testMTU)},
		"Last first":        {request(bth.RCWriteLast, 100, 8)},
		"Only in message":   {send, request(bth.RCSendOnly, 101, 8)},
		"First in message":  {send, request(bth.RCSendFirst, 101, testMTU)},
		"READ in message":   {send, withRETH(request(bth.RCReadRequest, 101, 0), 8)},
		"atomic in message": {write, request(bth.RCFetchAdd, 101, 0)},
		"WRITE after SEND":  {send, request(bth.RCWriteMiddle, 101, testMTU)},
		"SEND after WRITE":  {write, request(bth.RCSendMiddle, 101, testMTU)},
	})
	refuseLast(t, transport.RuleReserved, map[string][]*packet{
		"reserved 0x15": {request(0x15, 100, 0)},
		"reserved 0x18": {request(0x18, 100, 0)},
		"reserved 0x1f": {request(0x1f, 100, 0)},
	})
	refuseLast(t, transport.RuleUnsupported, map[string][]*packet{
		"FLUSH":        {request(bth.RCFlush, 100, 0)},
		"ATOMIC WRITE": {request(bth.RCAtomicWrite, 100, 8)},
	})
}

// refuseLast runs scripts whose last packet breaks the rule.
func refuseLast(t *testing.T, rule transport.Rule, scripts map[string][]*packet) {
	t.Helper()
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) { refusesLast(t, rule, script) })
	}
}

// refusesLast feeds a script to a responder: all but the last packet are taken, the
// last one is refused by the rule with 0x61 at its PSN, and then there is silence.
func refusesLast(t *testing.T, rule transport.Rule, script []*packet) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, memSize)
	for i, pkt := range script {
		pkt.RETH.VA, pkt.RETH.RKey = p.b.addr(0), uint32(p.b.mem.RKey())
		pkt.Atomic.VA, pkt.Atomic.RKey = p.b.addr(0), uint32(p.b.mem.RKey())
		v := p.b.recv(pkt)
		if i < len(script)-1 {
			require.Equal(t, transport.Executed, v.Action, "%s", v)
			continue
		}
		require.Equal(t, transport.Failed, v.Action, "%s", v)
		require.Equal(t, rule, v.Rule, "%s", v)
	}
	naks := p.b.drain()
	require.Len(t, naks, 1)
	require.Equal(t, bth.NAKInvalidRequest, naks[0].AETH.Syndrome)
	require.Equal(t, script[len(script)-1].PSN, naks[0].PSN)
	p.b.recv(request(bth.RCSendOnly, naks[0].PSN.Add(1), 4))
	require.Empty(t, p.b.drain(), "silent after a fatal NAK")
}

// TestTooManyReads proves R21: one READ more than agreed is refused, behind the
// answers to those before it, in their order.
func TestTooManyReads(t *testing.T) {
	o := defaults()
	o.response = 4
	p := newPair(t, o)
	for i := range 5 {
		r := withRETH(request(bth.RCReadRequest, bth.PSN(100+i), 0), 8)
		r.RETH.VA, r.RETH.RKey = p.b.addr(0), uint32(p.b.mem.RKey())
		v := p.b.recv(r)
		require.Equal(t, i < 4, v.Action == transport.Executed, "READ %d: %s", i, v)
	}
	answers := p.b.drain()
	require.Len(t, answers, 5, "four answers, then the NAK")
	require.Equal(t, bth.NAKInvalidRequest, answers[4].AETH.Syndrome)
	for i, a := range answers {
		require.Equal(t, bth.PSN(100+i), a.PSN)
	}
}

// TestBadResponses proves R29: old and future acknowledgements are ignored;
// answers of the wrong kind, length or syndrome fail the work as a bad response.
func TestBadResponses(t *testing.T) {
	post := func(op qp.Op) *pair {
		p := newPair(t, defaults())
		n := 2 * testMTU
		if op.Atomic() {
			n = 8
		}
		for range 3 {
			p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
		}
		p.a.drain()
		return p
	}
	for _, psn := range []bth.PSN{99, 106, 107, 50000} {
		p := post(qp.OpWrite)
		v := p.a.recv(response(bth.RCAcknowledge, psn, 0))
		require.Equal(t, transport.Ignored, v.Action, "PSN %d: %s", psn, v)
		require.Equal(t, qp.StateRTS, p.a.m.State())
	}
	for name, c := range map[string]struct {
		op  qp.Op
		pkt *packet
	}{
		"reserved syndrome 0x7f":  {qp.OpWrite, withSyndrome(response(bth.RCAcknowledge, 100, 0), 0x7f)},
		"reserved type 0x40":      {qp.OpWrite, withSyndrome(response(bth.RCAcknowledge, 100, 0), 0x40)},
		"READ data for a WRITE":   {qp.OpWrite, response(bth.RCReadRespOnly, 100, 8)},
		"atomic answer for READ":  {qp.OpRead, response(bth.RCAtomicAck, 100, 0)},
		"READ data for an atomic": {qp.OpFetchAdd, response(bth.RCReadRespOnly, 100, 8)},
		"READ Only too short":     {qp.OpRead, response(bth.RCReadRespOnly, 100, 8)},
		"READ First short":        {qp.OpRead, response(bth.RCReadRespFirst, 100, 8)},
		"READ Last too early":     {qp.OpRead, response(bth.RCReadRespLast, 100, testMTU)},
		"READ NAK inside":         {qp.OpRead, withSyndrome(response(bth.RCReadRespFirst, 100, testMTU), bth.NAKSequence)},
	} {
		t.Run(name, func(t *testing.T) {
			p := post(c.op)
			v := p.a.recv(c.pkt)
			require.Equal(t, transport.RuleBadResponse, v.Rule)
			p.a.requireSends(cq.StatusBadResponse, cq.StatusFlushed, cq.StatusFlushed)
		})
	}
}

// TestFlushOrder proves C03: going to ERR completes all work of both
// queues in order, and so does work posted afterwards.
func TestFlushOrder(t *testing.T) {
	p := newPair(t, defaults())
	for i := range 5 {
		p.a.postRecv(uint64(i), 0, 10)
		p.a.post(qp.SendWR{ID: uint64(i), Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	}
	p.a.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	for i := 5; i < 7; i++ {
		p.a.postRecv(uint64(i), 0, 10)
		p.a.post(qp.SendWR{ID: uint64(i), Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		p.a.m.Posted()
	}
	require.Len(t, p.a.sends, 7)
	require.Len(t, p.a.recvs, 7)
	for i := range 7 {
		require.Equal(t, uint64(i), p.a.sends[i].ID)
		require.Equal(t, uint64(i), p.a.recvs[i].ID)
		require.Equal(t, cq.StatusFlushed, p.a.sends[i].Status)
		require.Equal(t, cq.StatusFlushed, p.a.recvs[i].Status)
	}
	require.Empty(t, p.a.drain(), "nothing is sent in ERR")
}

// request makes a request packet with n bytes of payload and the pad they need.
func request(op bth.Opcode, psn bth.PSN, n int) *packet {
	return &packet{Packet: bth.Packet{
		Opcode: op, PSN: psn, PKey: bth.DefaultPKey, Pad: bth.PadFor(n), AckReq: true,
		RETH: bth.RETH{Len: uint32(n)}, Payload: [2][]byte{make([]byte, n)},
	}}
}

func response(op bth.Opcode, psn bth.PSN, n int) *packet {
	p := request(op, psn, n)
	p.AETH = bth.AETH{Syndrome: bth.ACKUnlimited}
	return p
}

func withPad(p *packet, pad uint8) *packet           { p.Pad = pad; return p }
func withRETH(p *packet, n uint32) *packet           { p.RETH.Len = n; return p }
func withSyndrome(p *packet, s bth.Syndrome) *packet { p.AETH.Syndrome = s; return p }
