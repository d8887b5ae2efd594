package wire_test

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

// A packet is sealed by its path and checked by what the receiver sees of it.
func ExamplePath_Seal() {
	path := &wire.Path{
		Src: netip.MustParseAddr("10.0.0.2"), Dst: netip.MustParseAddr("10.0.0.1"),
		SrcPort: wire.SourcePort(0x11, 0x12),
	}
	path.Prepare()

	const id = 7 // the IPv4 identification that the packet will carry
	bth := []byte{0x04, 0x30, 0xff, 0xff, 0, 0, 0, 0x11, 0, 0, 0, 1}
	payload, tail := []byte("hello"), make([]byte, 3+wire.ICRCLen) // pad and ICRC
	path.Seal(id, bth, [][]byte{payload}, tail)

	packet := append(append(bth, payload...), tail...)
	flow := wire.MakeFlow(path.Src, path.Dst, path.SrcPort, wire.DontFragment)
	fmt.Println("known identification:", flow.Verify(id, [2][]byte{packet}))
	fmt.Println(flow.SolveID(0, [2][]byte{packet}))
	packet[14] ^= 1
	fmt.Println("damaged:", flow.Verify(id, [2][]byte{packet}))
	// Output:
	// known identification: true
	// 7 true
	// damaged: false
}
