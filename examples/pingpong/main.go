// Command pingpong sends messages to and fro with the verbs: post work, wait for
// completions. To measure, and to talk to other implementations, use roci pingpong.
//
//	go run ./examples/pingpong -listen 127.0.0.2:7001
//	go run ./examples/pingpong -connect 127.0.0.2:7001
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link/udp"
)

// size is the length of a message in bytes.
const size = 2048

// IDs of work requests, which their completions return.
const (
	recvID = 1
	sendID = 2
)

// pingpong sends rounds messages and receives as many, in turn with the peer. It
// returns how long that took.
func pingpong(ctx context.Context, tcp net.Conn, client bool, rounds int) time.Duration {
	dev := must(roce.Open(must(udp.Open(tcp.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()))))
	defer dev.Close()
	pd := must(dev.AllocPD())
	cq := must(dev.CreateCQ(4))
	mr := must(pd.RegMR(make([]byte, 2*size), roce.AccessLocalWrite))
	qp := must(pd.CreateQP(roce.QPConfig{SendCQ: cq, SendDepth: 2, RecvDepth: 2}))
	recv := roce.RecvWR{ID: recvID, SGE: mr.SGE(0, size)}
	send := roce.SendWR{ID: sendID, Op: roce.OpSend, SGE: mr.SGE(size, size), Flags: roce.Signaled}

	in, out := json.NewDecoder(tcp), json.NewEncoder(tcp) // each tells the other where its QP is
	if client {
		check(out.Encode(qp.Info()))
	}
	var peer roce.Info
	check(in.Decode(&peer))
	check(qp.Connect(peer))
	must(qp.PostRecv(recv))
	if client {
		must(qp.PostSend(send))
	} else {
		check(out.Encode(qp.Info())) // now we are ready for the client's first message
	}
	start, wc := time.Now(), make([]roce.WC, 4)
	for received, sent := 0, 0; received+sent < 2*rounds; {
		n := must(cq.Wait(ctx, wc)) // or cq.Poll(wc), again and again: faster
		for i := range wc[:n] {
			check(cq.Err(&wc[i]))
			if wc[i].ID == sendID {
				sent++
				continue
			}
			if received++; received < rounds {
				must(qp.PostRecv(recv)) // before the peer is asked for the message
			}
			if !client || received < rounds {
				must(qp.PostSend(send))
			}
		}
	}
	return time.Since(start)
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatalln("pingpong:", err)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.2:7001", "be the server of one client, at this `address:port`")
	connect := flag.String("connect", "", "be the client of the server at this `address:port`")
	rounds := flag.Int("rounds", 1000, "messages that each end sends")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var took time.Duration
	if *connect != "" {
		took = pingpong(ctx, must(net.Dial("tcp", *connect)), true, *rounds)
	} else {
		ln := must(net.Listen("tcp", *listen))
		fmt.Println("listening on", ln.Addr())
		took = pingpong(ctx, must(ln.Accept()), false, *rounds)
	}
	fmt.Printf("%d round trips of %d bytes in %v\n", *rounds, size, took)
}
