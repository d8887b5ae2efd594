package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestCommunicationEstablished proves 10.3.1.3: the peer's first request in RTR raises
// one event, whether or not a receive is there for it; a stray does not, and in RTS
// there is none.
func TestCommunicationEstablished(t *testing.T) {
	o := defaults()
	h := newHost(t, "B", 0x22, new(clock.Time))
	h.toInit(o)
	h.toRTR(0x11, 500, o)
	h.recv(request(bth.RCSendOnly, 510, 4))
	require.Empty(t, h.events, "not the packet that the peer begins with")
	require.Equal(t, transport.RuleNotReady, h.recv(request(bth.RCSendOnly, 500, 4)).Rule)
	require.Equal(t, []transport.Event{transport.EventCommEstablished}, h.events)
	h.postRecv(1, 0, 8)
	h.recv(request(bth.RCSendOnly, 500, 4))
	h.recv(request(bth.RCWriteOnly, 501, 0))
	require.Len(t, h.events, 1, "once")

	p := newPair(t, o)
	p.b.recv(request(bth.RCWriteOnly, 100, 0))
	require.Empty(t, p.b.events, "it is in RTS")
}

// TestErrorEvents proves 11.6.3.2: a refused request that no completion tells of raises an
// event on the responder, by the NAK it sent; what completions tell of raises none.
func TestErrorEvents(t *testing.T) {
	for name, c := range map[string]struct {
		script []*packet
		want   []transport.Event
	}{
		"invalid":         {[]*packet{request(bth.RCSendMiddle, 100, testMTU)}, []transport.Event{transport.EventRequestError}},
		"reserved":        {[]*packet{request(0x1f, 100, 0)}, []transport.Event{transport.EventRequestError}},
		"unknown key":     {[]*packet{request(bth.RCWriteOnly, 100, 4)}, []transport.Event{transport.EventAccessError}},
		"unknown atomic":  {[]*packet{request(bth.RCFetchAdd, 100, 0)}, []transport.Event{transport.EventAccessError}},
		"with a receive":  {[]*packet{request(bth.RCSendFirst, 100, testMTU), request(bth.RCSendFirst, 101, testMTU)}, nil},
		"no receive":      {[]*packet{request(bth.RCSendOnly, 100, 4), request(bth.RCSendOnly, 100, 4), request(bth.RCSendOnly, 101, 4)}, nil},
		"gap":             {[]*packet{request(bth.RCSendOnly, 102, 4)}, nil},
		"silent after it": {[]*packet{request(0x1f, 100, 0), request(0x1f, 100, 0)}, []transport.Event{transport.EventRequestError}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			if name != "no receive" {
				p.b.postRecv(1, 0, 4*testMTU)
			}
			for _, pkt := range c.script {
				p.b.recv(pkt)
			}
			require.Equal(t, c.want, p.b.events)
		})
	}
}

// TestRegionGoneRaisesAccessError proves that a READ whose region goes while it is being
// answered counts as one too.
func TestRegionGoneRaisesAccessError(t *testing.T) {
	p := newPair(t, defaults())
	r := withRETH(request(bth.RCReadRequest, 100, 0), 2*testMTU)
	r.RETH.VA, r.RETH.RKey = p.b.addr(0), uint32(p.b.mem.RKey())
	p.b.recv(r)
	p.b.next()
	p.b.table.Deregister(p.b.mem)
	require.Equal(t, bth.NAKRemoteAccess, p.b.next().AETH.Syndrome)
	require.Equal(t, []transport.Event{transport.EventAccessError}, p.b.events)
}

// TestFatalEvent proves 11.6.3.1: a queue pair that fails for a reason outside the
// protocol says so; one that is taken to ERR, or whose work fails, does not.
func TestFatalEvent(t *testing.T) {
	p := newPair(t, defaults())
	p.a.m.Abandon(transport.RuleCQOverflow)
	p.a.m.Abandon(transport.RuleCQOverflow)
	require.Equal(t, []transport.Event{transport.EventQPFatal}, p.a.events)
	p.b.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	require.Empty(t, p.b.events)

	p = newPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 8)})
	p.settle()
	require.Equal(t, qp.StateErr, p.a.m.State())
	require.Empty(t, p.a.events, "its completion says it all")
	require.Equal(t, []transport.Event{transport.EventAccessError}, p.b.events)
}
