// Command write places bytes in the memory of another process, on this host or on
// another one, while the other program does nothing: an RDMA WRITE.
//
//	go run ./examples/write -listen 127.0.0.2:7000
//	go run ./examples/write -connect 127.0.0.2:7000 -text hello
package main

import (
	"bytes"
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

// offer is what the two ends tell each other over TCP before RDMA can begin.
type offer struct {
	QP     roce.Info   // where my queue pair is
	Memory roce.Remote // what you may write to; only the server says this
}

// server offers memory, and looks at it when the client says so.
func server(tcp net.Conn) {
	dev, pd, conn := open(tcp)
	defer dev.Close()
	memory := must(pd.RegMR(make([]byte, 4096), roce.AccessLocalWrite|roce.AccessRemoteWrite))

	in, out := json.NewDecoder(tcp), json.NewEncoder(tcp)
	var peer offer
	check(in.Decode(&peer))
	check(conn.QP().Connect(peer.QP)) // before the client hears of us and writes
	check(out.Encode(offer{conn.QP().Info(), memory.Remote()}))

	var done bool // nothing here notices the WRITE: the client tells of it
	check(in.Decode(&done))
	check(memory.Close()) // from here on the memory is ours alone
	text, rest, _ := bytes.Cut(memory.Bytes(), []byte{0})
	fmt.Printf("found %q in my memory; the %d bytes behind it are still zero: %v\n",
		text, len(rest), bytes.Count(rest, []byte{0}) == len(rest))
}

// client writes to the server's memory.
func client(tcp net.Conn, text string) {
	dev, pd, conn := open(tcp)
	defer dev.Close()
	memory := must(pd.RegMR([]byte(text), 0)) // no rights: our own device may read it, that is all

	in, out := json.NewDecoder(tcp), json.NewEncoder(tcp)
	check(out.Encode(offer{QP: conn.QP().Info()}))
	var peer offer
	check(in.Decode(&peer))
	check(conn.QP().Connect(peer.QP))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	check(conn.Write(ctx, memory.SGE(0, len(text)), peer.Memory)) // returns when it is there
	fmt.Printf("wrote %q to %v at %v\n", text, peer.Memory, peer.QP.GID)
	check(out.Encode(true))
}

// open makes a device on the address that this end of the TCP connection has, and
// a connection on it that is still to be connected.
func open(tcp net.Conn) (*roce.Device, *roce.PD, *roce.Conn) {
	lnk := must(udp.Open(tcp.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()))
	dev := must(roce.Open(lnk))
	pd := must(dev.AllocPD()) // who is connected in it reaches the memory in it, no other
	return dev, pd, must(pd.CreateConn(roce.ConnConfig{}))
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatalln("write:", err)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.2:7000", "be the server of one client, at this `address:port`")
	connect := flag.String("connect", "", "be the client of the server at this `address:port`")
	text := flag.String("text", "hello", "what the client writes")
	flag.Parse()
	if *connect != "" {
		client(must(net.Dial("tcp", *connect)), *text)
	} else {
		ln := must(net.Listen("tcp", *listen))
		fmt.Println("listening on", ln.Addr())
		server(must(ln.Accept()))
	}
}
