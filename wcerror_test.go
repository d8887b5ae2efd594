package roce_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
)

// failure provokes completions with errors: the request that A posts first fails, at
// A's end or at B's.
type failure struct {
	name   string
	opts   []roce.ConnectOption // of A
	do     func(p *pair)
	at     func(p *pair) *end // whose completion is looked at
	status roce.Status
	rule   transport.Rule
	remedy string
}

func atA(p *pair) *end { return p.a }
func atB(p *pair) *end { return p.b }

// failures provoke every status that completions have.
var failures = []failure{
	{"receive too short", nil, sendTooLong, atB, roce.StatusLocalLength, transport.RuleTooLong, "post longer receives"},
	{"SEND too long", nil, sendTooLong, atA, roce.StatusRemoteInvalid, transport.RuleRemoteInvalid, "receives are long enough"},
	{"READ on a connection without", []roce.ConnectOption{roce.WithReadLimits(0, 16)}, func(p *pair) {
		p.a.send(p.remote(roce.OpRead))
	}, atA, roce.StatusLocalQPOperation, transport.RuleNoReads, "WithReadLimits of at least 1"},
	{"invalidating what is no window", nil, func(p *pair) {
		p.a.send(roce.SendWR{Op: roce.OpLocalInv, RKey: p.a.mr.Remote().Key ^ 1})
	}, atA, roce.StatusLocalQPOperation, transport.RuleInvalidate, "invalidate only keys of windows"},
	{"L_Key of no region", nil, func(p *pair) {
		wr := p.remote(roce.OpWrite)
		wr.SGE.LKey ^= 1
		p.a.send(wr)
	}, atA, roce.StatusLocalProtection, transport.RuleWorkMemory, "SGEs lie in regions of this PD"},
	{"READ into a region closed meanwhile", nil, func(p *pair) {
		p.a.send(p.remote(roce.OpRead))
		sent := func() bool { return p.a.qp.Stats().PacketsSent > 0 }
		require.NoError(p.t, p.world.RunUntil(sent, p.world.Now().Add(time.Second)))
		require.NoError(p.t, p.a.mr.Close())
	}, atA, roce.StatusLocalProtection, transport.RuleResponseMemory, "SGEs lie in regions with local write access"},
	{"receive in a closed region", nil, sendToClosedRegion, atB, roce.StatusLocalProtection, transport.RuleLocalMemory, "not closed yet"},
	{"SEND that the peer cannot place", nil, sendToClosedRegion, atA, roce.StatusRemoteOperation, transport.RuleRemoteOp, "look at the peer"},
	{"work behind one that failed", nil, func(p *pair) {
		wr := p.remote(roce.OpWrite)
		wr.RKey ^= 1
		p.a.send(wr, roce.SendWR{Op: roce.OpSend})
		p.wait(p.a, 1)
	}, atA, roce.StatusFlushed, transport.RuleRemoteAccess, "check key, address, length and rights"},
	{"receive of a peer that asked for too much", nil, func(p *pair) {
		p.b.recv(1, 0, 8)
		wr := p.remote(roce.OpWrite)
		wr.RKey ^= 1
		p.a.send(wr)
	}, atB, roce.StatusFlushed, transport.RuleKey, "memory that it may not touch"},
	{"bind to a closed region", nil, func(p *pair) {
		w, err := p.a.pd.AllocMW()
		require.NoError(p.t, err)
		m, err := p.a.pd.RegMR(make([]byte, 8), allRights|roce.AccessMWBind)
		require.NoError(p.t, err)
		bind := w.Bind(m, 0, 8, roce.AccessRemoteRead)
		require.NoError(p.t, m.Close())
		p.a.send(bind)
	}, atA, roce.StatusMWBind, transport.RuleBindGone, "keep window and region open"},
	{"READ answered in packets of another path MTU", []roce.ConnectOption{roce.WithPathMTU(512)}, func(p *pair) {
		wr := p.remote(roce.OpRead)
		wr.SGE = p.a.mr.SGE(0, 2048)
		p.a.send(wr)
	}, atA, roce.StatusBadResponse, transport.RuleBadResponse, "same path MTU"},
	{"R_Key of no region", nil, func(p *pair) {
		wr := p.remote(roce.OpWrite)
		wr.RKey ^= 1
		p.a.send(wr)
	}, atA, roce.StatusRemoteAccess, transport.RuleRemoteAccess, "check key, address, length and rights"},
	{"silent peer", []roce.ConnectOption{roce.WithRetry(8, 2, 7)}, func(p *pair) {
		p.world.Faults.Add(simnet.Drop(simnet.Match{From: "b"}))
		p.a.send(p.remote(roce.OpWrite))
	}, atA, roce.StatusRetryExceeded, transport.RuleRetryExceeded, "check that the peer runs"},
	{"peer that never receives", []roce.ConnectOption{roce.WithRetry(14, 7, 2)}, func(p *pair) {
		p.a.send(roce.SendWR{Op: roce.OpSend})
	}, atA, roce.StatusRNRRetryExceeded, transport.RuleRNRExceeded, "post receives earlier"},
}

func sendTooLong(p *pair) {
	p.b.recv(1, 0, 4)
	p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8)})
}

func sendToClosedRegion(p *pair) {
	p.b.recv(1, 0, 8)
	require.NoError(p.t, p.b.mr.Close())
	p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8)})
}

// remote is an operation on 8 bytes of B's memory.
func (p *pair) remote(op roce.Op) roce.SendWR {
	r := p.b.mr.Remote()
	return roce.SendWR{Op: op, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key}
}

// never are the statuses that no completion has: what they stand for elsewhere has
// another status here (LocalAccess), fails the queue pair and flushes its work (Fatal),
// or cannot happen (General).
var never = []roce.Status{roce.StatusLocalAccess, roce.StatusFatal, roce.StatusGeneral}

// TestErrorsOfCompletionsInWords proves that the error of a failed completion, whatever
// its status, tells queue pair, peer, PSN, the rule in words and what to do.
func TestErrorsOfCompletionsInWords(t *testing.T) {
	met := map[roce.Status]bool{}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			p := newUnconnected(t, roce.QPConfig{})
			require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), f.opts...))
			require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
			e := f.at(p)
			f.do(p)
			wc := p.wait(e, 1)[0]
			require.Equal(t, f.status, wc.Status)
			met[wc.Status] = true

			err := e.cq.Err(&wc)
			t.Log(err)
			var cause *roce.QPError
			require.ErrorAs(t, err, &cause)
			require.Equal(t, f.rule, cause.Rule)
			var failed *roce.WCError
			require.ErrorAs(t, err, &failed)
			a := e.qp.Attr()
			for _, word := range []string{
				f.status.String(),
				fmt.Sprintf("work request %d on %s", wc.ID, e.qp),
				fmt.Sprintf("connected to QP 0x%06x at %v", a.DestQPN, a.DestAddr),
				fmt.Sprintf("(PSN %d)", p.a.qp.Attr().SQPSN),
				f.rule.String(),
				f.remedy,
			} {
				require.ErrorContains(t, err, word)
			}
		})
	}
	for s := roce.StatusSuccess + 1; s < cq.NumStatuses; s++ {
		switch s.String() {
		case "local EE context operation error", "local RDD violation error", "remote invalid RD request", "aborted error",
			"invalid EE context number", "invalid EE context state", "response timeout error": // of other transport services
		default:
			require.NotEqual(t, met[s], slices.Contains(never, s), "%s: provoked, or said never to be", s)
		}
	}
}

// TestErrorsOfSuccessAndOfTheForgotten proves that success is no error, that work
// flushed by hand says so and names the peer, and that a closed queue pair's completion
// has an error all the same.
func TestErrorsOfSuccessAndOfTheForgotten(t *testing.T) {
	p := newPair(t)
	p.a.send(roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled})
	wc := p.wait(p.a, 1)[0]
	require.NoError(t, p.a.cq.Err(&wc))
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = p.a.cq.Err(&wc) }))

	p.a.recv(7, 0, 8)
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	wc = p.wait(p.a, 1)[0]
	err := p.a.cq.Err(&wc)
	require.ErrorIs(t, err, roce.ErrFlushed)
	require.ErrorContains(t, err, fmt.Sprintf("%s, connected to QP 0x%06x at 10.0.0.2, was taken to ERR", p.a.qp, p.b.qp.QPN()))
	require.ErrorContains(t, err, "bring it to RESET and connect it")

	require.NoError(t, p.a.qp.Close())
	err = p.a.cq.Err(&wc)
	require.ErrorIs(t, err, roce.ErrFlushed)
	require.ErrorContains(t, err, "work request 7 on QP 0x")
}
