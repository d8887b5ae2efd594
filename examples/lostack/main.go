// Lostack loses an acknowledgement on purpose, in a simulated network, and draws what
// happens. Time there is virtual and everything random comes from a seed, so every run
// prints the same.
//
//	go run ./examples/lostack
package main

import (
	"fmt"
	"log"
	"net/netip"
	"os"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
)

// end is one device with a queue pair and 4 KiB of memory.
type end struct {
	cq *roce.CQ
	qp *roce.QP
	mr *roce.MR
}

func newEnd(w *simnet.World, rec *trace.Recorder, name, addr string) end {
	// Manual: the world runs the device, one event after the other.
	dev := must(roce.Open(w.Link(name, netip.MustParseAddr(addr)), roce.Manual(), roce.WithTap(rec.Device(name))))
	w.Attach(dev)
	pd := must(dev.AllocPD())
	cq := must(dev.CreateCQ(16))
	rights := roce.AccessLocalWrite | roce.AccessRemoteWrite
	return end{cq, must(pd.CreateQP(roce.QPConfig{SendCQ: cq})), must(pd.RegMR(make([]byte, 4096), rights))}
}

func main() {
	w := simnet.New(1)
	rec := trace.NewSync(trace.NewLadder(os.Stdout, trace.LadderOptions{}))
	a, b := newEnd(w, rec, "a", "10.0.0.1"), newEnd(w, rec, "b", "10.0.0.2")
	check(a.qp.Connect(b.qp.Info()))
	check(b.qp.Connect(a.qp.Info()))
	w.Faults.Add(simnet.Drop(simnet.Match{Op: new(bth.RCAcknowledge), Nth: 2}))

	to := b.mr.Remote()
	for i := range 3 {
		write := roce.SendWR{Op: roce.OpWrite, SGE: a.mr.SGE(0, 64), RemoteAddr: to.Addr, RKey: to.Key, Flags: roce.Signaled}
		must(a.qp.PostSend(write))
		wc := make([]roce.WC, 1)
		check(w.RunUntil(func() bool { return a.cq.Poll(wc) == 1 }, clock.Time(time.Second)))
		check(a.cq.Err(&wc[0]))
		fmt.Printf("WRITE %d complete at %v\n", i+1, w.Now())
	}
	check(rec.Close()) // draws the ladder
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatalln("lostack:", err)
	}
}
