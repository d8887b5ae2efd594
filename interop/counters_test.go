//go:build linux

package interop

import (
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// rxeCounters are counters by the names that the kernel's rdma_rxe has for them. What is
// zero is left out.
type rxeCounters map[string]uint64

// inRxe says for each of the kernel's counters which of ours together count the same
// events. docs/counters.md shows it. The kernel's other counters have no counterpart.
var inRxe = map[string][]roce.CounterID{
	"sent_pkts":              {roce.CounterTxPackets},
	"rcvd_pkts":              {roce.CounterRxPackets},
	"duplicate_request":      {roce.CounterDuplicateRequest},
	"out_of_seq_request":     {roce.CounterOutOfSeqRequest},
	"send_rnr_err":           {roce.CounterOutOfBuffer},
	"rcvd_rnr_err":           {roce.CounterRNRNAKRetryErr, roce.CounterReqRNRRetriesExceeded},
	"retry_exceeded_err":     {roce.CounterReqTransportRetriesExceeded},
	"retry_rnr_exceeded_err": {roce.CounterReqRNRRetriesExceeded},
	"rcvd_seq_err":           {roce.CounterPacketSeqErr},
	"completer_retry_err":    {roce.CounterLocalAckTimeoutErr, roce.CounterPacketSeqErr, roce.CounterImpliedNAKSeqErr},
	"rdma_recvs":             {roce.CounterRDMARecvs},
}

// asRxe is what our device counted, in the kernel's terms.
func asRxe(c roce.Counters) rxeCounters {
	m := rxeCounters{}
	for name, ids := range inRxe {
		for _, id := range ids {
			m[name] += c[id]
		}
	}
	return m
}

// sub is what came since an earlier moment.
func (c rxeCounters) sub(earlier rxeCounters) rxeCounters {
	d := rxeCounters{}
	for name, n := range c {
		if n != earlier[name] {
			d[name] = n - earlier[name]
		}
	}
	return d
}

// hwCounters reads those of the guest that have a counterpart.
func hwCounters(t *testing.T, g *guest.Guest) rxeCounters {
	t.Helper()
	c := rxeCounters{}
	out := runGuest(t, g, "cd "+hwCountersDir+" && grep . *")
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseUint(value, 10, 64)
		require.NoError(t, err, line)
		if inRxe[name] != nil {
			c[name] = n
		}
	}
	require.Len(t, c, len(inRxe), "counters of the kernel: %s", out)
	return c
}

const hwCountersDir = "/sys/class/infiniband/rxe0/ports/1/hw_counters"

func runGuest(t *testing.T, g *guest.Guest, script string) string {
	t.Helper()
	r, err := g.Run(bounded(t), script)
	require.NoError(t, err)
	require.Zero(t, r.Code, r.Stderr)
	return r.Stdout
}

// situation is one that both stacks count alike, each of them once as the requester and
// once as the responder.
type situation struct {
	name     string
	settings settings
	trouble  trouble // zero: none
	op       roce.Op
	times, n int // works posted together, bytes of each
	fails    bool

	requester, responder rxeCounters // what each of the two counts, whoever it is
	except               rxeCounters // what we count as the requester, if that is not the same
}

var situations = []situation{
	{name: "nothing goes wrong", settings: patient, op: roce.OpWriteImm, times: 5, n: 4097,
		requester: rxeCounters{}, responder: rxeCounters{"rdma_recvs": 5}},
	{name: "a request is lost", settings: patient, trouble: nth(bth.Request, 2), op: roce.OpWrite, times: 1, n: 4097,
		requester: rxeCounters{"rcvd_seq_err": 1, "completer_retry_err": 1}, responder: rxeCounters{"out_of_seq_request": 1}},
	{name: "the oldest request is lost", settings: patient, trouble: nth(bth.Request, 1), op: roce.OpWrite, times: 1, n: 4097,
		requester: rxeCounters{"completer_retry_err": 1}, responder: rxeCounters{"out_of_seq_request": 1},
		// The kernel counts only a NAK that acknowledges something.
		except: rxeCounters{"rcvd_seq_err": 1, "completer_retry_err": 1}},
	{name: "each request comes twice", settings: patient, trouble: doubled(bth.Request), op: roce.OpWrite, times: 1, n: 4097,
		requester: rxeCounters{}, responder: rxeCounters{"duplicate_request": 5}},
	{name: "each atomic comes twice", settings: patient, trouble: doubled(bth.Request), op: roce.OpFetchAdd, times: 3, n: 8,
		requester: rxeCounters{}, responder: rxeCounters{"duplicate_request": 3}},
	{name: "an acknowledgement is lost", settings: settings{timeout: 17, retry: 7, rnrRetry: 7}, trouble: nth(bth.Response, 1), op: roce.OpWrite, times: 1, n: 100,
		requester: rxeCounters{"completer_retry_err": 1}, responder: rxeCounters{"duplicate_request": 1}},
	{name: "the answer to a READ is lost", settings: patient, trouble: nth(bth.Response, 1), op: roce.OpRead, times: 2, n: 100,
		requester: rxeCounters{"completer_retry_err": 1}, responder: rxeCounters{"duplicate_request": 2}},
	{name: "no receive is posted", settings: settings{timeout: 18, retry: 7, rnrRetry: 2}, op: roce.OpSend, times: 1, n: 100, fails: true,
		requester: rxeCounters{"rcvd_rnr_err": 3, "retry_rnr_exceeded_err": 1}, responder: rxeCounters{"send_rnr_err": 3}},
	{name: "no answer arrives", settings: impatient, trouble: allLost(bth.Response), op: roce.OpWrite, times: 1, n: 100, fails: true,
		requester: rxeCounters{"completer_retry_err": 3, "retry_exceeded_err": 1}, responder: rxeCounters{"duplicate_request": 3}},
}

// TestCountersPageSaysTheSame proves that docs/counters.md names the same counterparts as
// the comparison.
func TestCountersPageSaysTheSame(t *testing.T) {
	page, err := os.ReadFile("../docs/counters.md")
	require.NoError(t, err)
	for name, ids := range inRxe {
		var ours []string
		for _, id := range ids {
			ours = append(ours, "`"+id.String()+"`")
		}
		require.Contains(t, string(page), "\n| `"+name+"` | "+strings.Join(ours, " + ")+" | ")
	}
}

// TestCountersAgree proves that our counters and those of the kernel count the same
// events: in situations in which each packet is known both stacks count the same, in
// either role, and what one sent the other received. Ours drops what comes behind a gap, as the
// kernel does: of what it holds the kernel repeats as much as it has time for, and
// those are duplicates.
func TestCountersAgree(t *testing.T) {
	testenv.Need(t, guest.Feature)
	for _, k := range guest.Kernels() {
		if k != guest.Kernel61 && !testenv.Full() {
			continue
		}
		t.Run(string(k), func(t *testing.T) {
			b := newBench(t, newLab(t, k), families[0])
			runGuest(t, b.g, "echo 0 > "+hwCountersDir+"/lifespan") // else what is read may be old
			for _, w := range ways {
				for _, s := range situations {
					t.Run(s.name+", "+w.name, func(t *testing.T) { s.run(t, b, w) })
				}
			}
		})
	}
}

func (s situation) run(t *testing.T, b *bench, w way) {
	s.settings.ours.GoBackN = true
	p := b.connect(t, s.settings)
	req, resp := w.ends(p)
	for i := range s.times {
		if s.op == roce.OpWriteImm {
			resp.postRecv(t, uint64(i), arrivalOff, s.n)
		}
	}
	mark, before := b.tap.mark(), b.counters(t)
	if s.trouble.do != nil {
		lift := b.tap.inflict(p, s.trouble)
		defer lift()
	}
	for i := range s.times {
		req.post(t, work{id: uint64(i), op: s.op, off: sourceOff, n: s.n, at: resp.remote(s.at()), add: 1})
	}
	for _, c := range req.completions(t, s.times) {
		require.Equal(t, s.fails, c.status != roce.StatusSuccess, c.status)
	}

	// When the work has completed, packets may still be on their way or not yet counted.
	want, got := s.want(w), b.counters(t).sub(before)
	for ctx := bounded(t); ctx.Err() == nil && !got.equal(want.with(b.traffic(mark))); runtime.Gosched() {
		got = b.counters(t).sub(before)
	}
	require.Equal(t, want.with(b.traffic(mark)), got)
}

// at is where the operation goes in the responder's memory.
func (s situation) at() int {
	if isAtomic(s.op) {
		return wordOff
	}
	return arrivalOff
}

// want is what either end counts, but for the traffic.
func (s situation) want(w way) bothEnds {
	if w.requests == guest.FromGuest {
		return bothEnds{kernel: s.requester, ours: s.responder}
	}
	if s.except != nil {
		return bothEnds{kernel: s.responder, ours: s.except}
	}
	return bothEnds{kernel: s.responder, ours: s.requester}
}

// bothEnds are the counters of both.
type bothEnds struct{ kernel, ours rxeCounters }

func (b *bench) counters(t *testing.T) bothEnds {
	t.Helper()
	return bothEnds{hwCounters(t, b.g), asRxe(b.dev.Counters())}
}

// traffic is what both ends count of the packets that were seen after a mark.
func (b *bench) traffic(mark int) bothEnds {
	e := bothEnds{rxeCounters{}, rxeCounters{}}
	for _, p := range b.tap.since(mark) {
		from, to := e.ours, e.kernel
		if p.dir == guest.FromGuest {
			from, to = e.kernel, e.ours
		}
		from["sent_pkts"]++
		to["rcvd_pkts"] += uint64(p.copies())
	}
	return bothEnds{e.kernel.sub(nil), e.ours.sub(nil)}
}

func (e bothEnds) sub(earlier bothEnds) bothEnds {
	return bothEnds{e.kernel.sub(earlier.kernel), e.ours.sub(earlier.ours)}
}

// with joins counters that have no names in common.
func (e bothEnds) with(o bothEnds) bothEnds {
	e = bothEnds{maps.Clone(e.kernel), maps.Clone(e.ours)}
	maps.Copy(e.kernel, o.kernel)
	maps.Copy(e.ours, o.ours)
	return e
}

func (e bothEnds) equal(o bothEnds) bool {
	return maps.Equal(e.kernel, o.kernel) && maps.Equal(e.ours, o.ours)
}
