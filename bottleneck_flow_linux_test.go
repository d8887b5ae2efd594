package roce_test

import (
	"bytes"
	"math/rand/v2"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
)

const (
	flowMessage  = 32 << 10 // bytes
	flowMessages = 100
	flowDepth    = 8 // under way
	flowClass    = 26 << 2

	// enoughSteps is how many operations, one after the other, certainly take longer
	// than a rate needs to rise.
	enoughSteps = 200_000
)

// flow is a connection that carries data from a sender to the receiver.
type flow struct {
	from         *netns.Host
	source, sink *end
	op           roce.Op
	poster, peer *end    // the ends again: who posts, and whose memory that is about
	slowest      float64 // bit/s, the lowest rate of the source that was seen
	steps        int     // operations until that was back at line rate
}

// newFlow makes both ends of a flow from one of the senders.
func (j *jam) newFlow(sender int, r *rand.Rand) *flow {
	j.Helper()
	f := &flow{from: j.Senders[sender], slowest: jamLine}
	f.source, f.sink = j.newFlowEnd(j.senders[sender], j.dcqcn), j.newFlowEnd(j.receiver, true)
	for i, b := 0, f.source.mr.Bytes(); i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	return f
}

// newFlowEnd is an end whose memory holds all messages.
func (j *jam) newFlowEnd(dev *roce.Device, dcqcn bool) *end {
	j.Helper()
	e := &end{t: j, dev: dev}
	var err error
	e.pd, err = dev.AllocPD()
	require.NoError(j, err)
	e.cq, err = dev.CreateCQ(2 * flowDepth)
	require.NoError(j, err)
	e.mr, err = e.pd.RegMR(make([]byte, flowMessages*flowMessage), allRights)
	require.NoError(j, err)
	cfg := roce.QPConfig{SendCQ: e.cq, SendDepth: flowDepth}
	if dcqcn {
		cfg.DCQCN = &roce.DCQCN{Params: jamParams(), LineRate: jamLine, SendCNP: true}
	}
	e.qp, err = e.pd.CreateQP(cfg)
	require.NoError(j, err)
	return e
}

// connect connects the flows, to be used for an operation.
func (j *jam) connect(op roce.Op) {
	j.Helper()
	opts := []roce.ConnectOption{roce.WithPathMTU(1024), roce.WithTrafficClass(flowClass, 0)}
	for _, f := range j.flows {
		require.NoError(j, f.from.Do(func() error { return f.source.qp.Connect(f.sink.qp.Info(), opts...) }))
		require.NoError(j, j.Receiver.Do(func() error { return f.sink.qp.Connect(f.source.qp.Info(), opts...) }))
		f.op, f.poster, f.peer = op, f.source, f.sink
		if op == roce.OpRead {
			f.poster, f.peer = f.sink, f.source
		}
	}
}

// each runs something for all flows at once.
func (j *jam) each(do func(*flow)) {
	var all sync.WaitGroup
	for _, f := range j.flows {
		all.Go(func() { do(f) })
	}
	all.Wait()
}

// press has all flows carry all messages at once.
func (j *jam) press() {
	j.each(func(f *flow) {
		for posted, done := 0, 0; done < flowMessages; {
			for ; posted < flowMessages && posted-done < flowDepth; posted++ {
				f.post(posted, flowMessage)
			}
			done += f.wait(j)
			f.watch()
		}
	})
	j.Logf("port: %+v", j.Counts())
}

// watch notes the source's rate.
func (f *flow) watch() {
	if rate := f.source.qp.Rate().BitsPerSec; rate > 0 {
		f.slowest = min(f.slowest, rate)
	}
}

// recover has each flow carry a packet, again and again, until its source is at line rate.
// The first one follows the last notification.
func (j *jam) recover() {
	j.each(func(f *flow) {
		for slow := true; slow && f.steps < enoughSteps; f.steps++ {
			f.step(j)
			f.watch()
			slow = f.source.qp.Rate().BitsPerSec != 0
		}
	})
	for _, f := range j.flows {
		require.Less(j, f.steps, enoughSteps, "a sender did not come back to line rate: %+v", f.source.qp.Rate())
	}
}

// step carries the beginning of the first message, a packet, and waits for it.
func (f *flow) step(j *jam) {
	f.post(0, 1000)
	f.wait(j)
}

// post posts the beginning of a message.
func (f *flow) post(message, n int) {
	at := message * flowMessage
	r := f.peer.mr.Remote().Slice(at, n)
	_, err := f.poster.qp.PostSend(roce.SendWR{
		Op: f.op, Flags: roce.Signaled, SGE: f.poster.mr.SGE(at, n), RemoteAddr: r.Addr, RKey: r.Key,
	})
	must(err)
}

// wait waits for completions.
func (f *flow) wait(j *jam) int {
	var wcs [flowDepth]roce.WC
	n, err := f.poster.cq.Wait(j.Context(), wcs[:])
	must(err)
	for i := range wcs[:n] {
		must(wcs[i].Err())
	}
	return n
}

// requireData proves that all arrived as it was sent.
func (j *jam) requireData() {
	for i, f := range j.flows {
		require.True(j, bytes.Equal(f.source.mr.Bytes(), f.sink.mr.Bytes()), "flow %d carried other bytes", i)
	}
}
