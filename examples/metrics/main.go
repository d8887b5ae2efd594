// Metrics lets one device write to another, on two addresses of this host, and shows to
// Prometheus what both count, until it is interrupted.
//
//	go run ./examples/metrics -listen 127.0.0.1:9400
//	curl http://127.0.0.1:9400/metrics                   # in another terminal
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/metrics"
)

// size is how much is written at a time, in bytes.
const size = 4096

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:9400", "serve /metrics on this `address`")
	from := flag.String("from", "127.0.0.2", "the writing device's `address`")
	to := flag.String("to", "127.0.0.3", "the other device's `address`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	a, connA, memoryA := open(*from)
	defer a.Close()
	b, connB, memoryB := open(*to)
	defer b.Close()
	check(connB.QP().Connect(connA.QP().Info()))
	check(connA.QP().Connect(connB.QP().Info()))

	http.Handle("/metrics", metrics.Handler(a, b))
	ln := must(net.Listen("tcp", *listen))
	go func() { check(http.Serve(ln, nil)) }()
	fmt.Printf("http://%v/metrics\n", ln.Addr())

	for tick := time.Tick(time.Millisecond); ; <-tick {
		err := connA.Write(ctx, memoryA.SGE(0, size), memoryB.Remote())
		if errors.Is(err, context.Canceled) {
			return
		}
		check(err)
	}
}

// open makes a device on an address of this host, with a connection and memory.
func open(addr string) (*roce.Device, *roce.Conn, *roce.MR) {
	dev := must(roce.Open(must(udp.Open(must(netip.ParseAddr(addr))))))
	pd := must(dev.AllocPD())
	rights := roce.AccessLocalWrite | roce.AccessRemoteWrite
	return dev, must(pd.CreateConn(roce.ConnConfig{})), must(pd.RegMR(make([]byte, size), rights))
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
