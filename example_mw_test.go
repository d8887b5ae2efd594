package roce_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// A server lends a part of its memory to a client for one job. The client gives it
// back together with its report: from then on it cannot touch the memory any more.
func ExampleMW() {
	world := simnet.New(1, simnet.RealTime())
	client, server := open(world, "client", "10.0.0.1"), open(world, "server", "10.0.0.2")
	defer client.dev.Close()
	defer server.dev.Close()
	connect(client.conn, server.conn)

	pd := server.conn.QP().PD()
	memory, err := pd.RegMR(make([]byte, 1<<20), roce.AccessLocalWrite|roce.AccessMWBind)
	if err != nil {
		log.Fatal(err)
	}
	window, err := pd.AllocMW()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	lent, err := server.conn.Bind(ctx, window, memory, 4096, 64, roce.AccessRemoteWrite)
	if err != nil {
		log.Fatal(err)
	}

	done := make(chan struct{})
	go func() { // the client, who was told of what was lent over any channel
		defer close(done)
		n := copy(client.mr.Bytes(), "a job well done")
		if err := client.conn.Write(ctx, client.mr.SGE(0, n), lent.Slice(0, n)); err != nil {
			log.Fatal(err)
		}
		if err := client.conn.SendInv(ctx, client.mr.SGE(0, n), lent.Key); err != nil {
			log.Fatal(err)
		}
	}()
	report, err := server.conn.Recv(ctx, server.mr.SGE(0, 100))
	if err != nil {
		log.Fatal(err)
	}
	<-done
	fmt.Printf("%q; given back: %v\n", memory.Bytes()[4096:4096+report.Len], report.Invalidated == lent.Key)
	// Output:
	// "a job well done"; given back: true
}
