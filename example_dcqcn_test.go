package roce_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/simnet"
)

// A switch marks a packet. Whoever receives it tells the sender, and that one sends slower.
func ExampleDCQCN() {
	world := simnet.New(1, simnet.RealTime())
	a, b := open(world, "a", "10.0.0.1"), open(world, "b", "10.0.0.2")
	defer a.dev.Close()
	defer b.dev.Close()
	cfg := roce.ConnConfig{DCQCN: &roce.DCQCN{
		Params:   ecn.ConnectX(), // what these adapters come with; zero: ecn.Paper()
		LineRate: 10e9,           // zero: what the link says, or what is measured
		SendCNP:  true,           // the peer takes CNPs
	}}
	sender, err := a.conn.QP().PD().CreateConn(cfg)
	if err != nil {
		log.Fatal(err)
	}
	receiver, err := b.conn.QP().PD().CreateConn(cfg)
	if err != nil {
		log.Fatal(err)
	}
	connect(sender, receiver)

	world.Faults.Add(simnet.MarkCE(simnet.Match{From: "a", Nth: 1}))
	if err := sender.Write(context.Background(), a.mr.SGE(0, 4096), b.mr.Remote()); err != nil {
		log.Fatal(err)
	}
	here, there := a.dev.Counters(), b.dev.Counters()
	fmt.Println(there[roce.CounterNPECNMarkedRoCEPackets], "marked,", there[roce.CounterNPCNPSent], "CNP sent,",
		here[roce.CounterRPCNPHandled], "obeyed")
	fmt.Println(sender.QP().Rate().Line/1e9, "Gb/s when nobody says so")
	// Output:
	// 1 marked, 1 CNP sent, 1 obeyed
	// 10 Gb/s when nobody says so
}
