package roce_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"sync"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// A device sits on a link: here one of a simulated network, in real life that of
// package link/udp.
func ExampleOpen() {
	world := simnet.New(1, simnet.RealTime())
	dev, err := roce.Open(world.Link("a", netip.MustParseAddr("10.0.0.1"), simnet.MTU(9000)))
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()

	gid, err := dev.GID(0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dev.Name(), gid)
	fmt.Println(dev.Port())
	// Output:
	// sim a ::ffff:10.0.0.1
	// ACTIVE, active_mtu 4096, max_mtu 4096, link MTU 9000, 1 GIDs
}

// One side writes to the memory of the other, which does not notice, and reads it
// back.
func ExampleConn_Write() {
	world := simnet.New(1, simnet.RealTime())
	a, b := open(world, "a", "10.0.0.1"), open(world, "b", "10.0.0.2")
	defer a.dev.Close()
	defer b.dev.Close()
	connect(a.conn, b.conn)

	ctx := context.Background()
	window := b.mr.Remote() // told to a over any channel
	n := copy(a.mr.Bytes(), "tilting at windmills")
	if err := a.conn.Write(ctx, a.mr.SGE(0, n), window); err != nil {
		log.Fatal(err)
	}
	if err := a.conn.Read(ctx, a.mr.SGE(100, 7), window.Slice(0, 7)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("b has %q, a read %q\n", b.mr.Bytes()[:n], a.mr.Bytes()[100:107])
	// Output:
	// b has "tilting at windmills", a read "tilting"
}

// Many callers count on one word of the peer's memory.
func ExampleConn_FetchAdd() {
	world := simnet.New(1, simnet.RealTime())
	a, b := open(world, "a", "10.0.0.1"), open(world, "b", "10.0.0.2")
	defer a.dev.Close()
	defer b.dev.Close()
	connect(a.conn, b.conn)

	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			if _, err := a.conn.FetchAdd(context.Background(), b.mr.Remote().Slice(0, 8), 5); err != nil {
				log.Fatal(err)
			}
		})
	}
	callers.Wait()
	fmt.Println(b.mr.LoadUint64(0))
	// Output:
	// 50
}

// exampleEnd is a device with one region and one connection.
type exampleEnd struct {
	dev  *roce.Device
	mr   *roce.MR
	conn *roce.Conn
}

func open(world *simnet.World, name, addr string) exampleEnd {
	dev, err := roce.Open(world.Link(name, netip.MustParseAddr(addr)))
	if err != nil {
		log.Fatal(err)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		log.Fatal(err)
	}
	mr, err := pd.RegMR(make([]byte, 4096),
		roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessRemoteRead|roce.AccessRemoteAtomic)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := pd.CreateConn(roce.ConnConfig{})
	if err != nil {
		log.Fatal(err)
	}
	return exampleEnd{dev, mr, conn}
}

// connect exchanges what each needs to know of the other; between two processes
// that is a line of text or JSON over TCP.
func connect(a, b *roce.Conn) {
	if err := a.QP().Connect(b.QP().Info()); err != nil {
		log.Fatal(err)
	}
	if err := b.QP().Connect(a.QP().Info()); err != nil {
		log.Fatal(err)
	}
}

// A ping-pong with the verbs: the client sends, the server answers, and so on.
func Example_verbs() {
	const iters = 100
	world := simnet.New(1, simnet.RealTime())
	infos := [2]chan roce.Info{make(chan roce.Info, 1), make(chan roce.Info, 1)}

	var both sync.WaitGroup
	both.Go(func() {
		err := pingPong(world.Link("server", netip.MustParseAddr("10.0.0.1")), false, infos[0], infos[1], iters)
		if err != nil {
			log.Fatal(err)
		}
	})
	both.Go(func() {
		err := pingPong(world.Link("client", netip.MustParseAddr("10.0.0.2")), true, infos[1], infos[0], iters)
		if err != nil {
			log.Fatal(err)
		}
	})
	both.Wait()
	fmt.Println(iters, "round trips")
	// Output:
	// 100 round trips
}

// pingPong is one side; mine and theirs carry what the sides have to know of each
// other.
func pingPong(l link.Link, client bool, mine chan<- roce.Info, theirs <-chan roce.Info, iters int) error {
	const recvID, sendID = 1, 2
	dev, err := roce.Open(l)
	if err != nil {
		return err
	}
	defer dev.Close()
	pd, err := dev.AllocPD()
	if err != nil {
		return err
	}
	cq, err := dev.CreateCQ(64)
	if err != nil {
		return err
	}
	mr, err := pd.RegMR(make([]byte, 4096), roce.AccessLocalWrite)
	if err != nil {
		return err
	}
	qp, err := pd.CreateQP(roce.QPConfig{Type: roce.RC, SendCQ: cq, RecvCQ: cq, SendDepth: 16, RecvDepth: 16})
	if err != nil {
		return err
	}
	mine <- qp.Info()
	if err := qp.Connect(<-theirs); err != nil { // INIT → RTR → RTS
		return err
	}

	recv := roce.RecvWR{ID: recvID, SGE: mr.SGE(0, 2048)}
	ping := roce.SendWR{ID: sendID, Op: roce.OpSend, SGE: mr.SGE(2048, 2048), Flags: roce.Signaled}
	if _, err := qp.PostRecv(recv); err != nil {
		return err
	}
	if client {
		if _, err := qp.PostSend(ping); err != nil {
			return err
		}
	}
	wc := make([]roce.WC, 16)
	for recvs, sends := 0, 0; recvs < iters || sends < iters; {
		n, err := cq.Wait(context.Background(), wc) // or cq.Poll(wc) in a loop
		if err != nil {
			return err
		}
		for _, w := range wc[:n] {
			if err := w.Err(); err != nil {
				return err
			}
			if w.ID == sendID {
				sends++
				continue
			}
			if recvs++; recvs < iters {
				if _, err := qp.PostRecv(recv); err != nil {
					return err
				}
			}
			if !client || recvs < iters { // the answer, or the next ping
				if _, err := qp.PostSend(ping); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
