package bth_test

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
)

// A packet is parsed without its ICRC, asked for its properties, and rebuilt.
func ExamplePacket_Parse() {
	raw := []byte{
		0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x56, 0x00, 0x00, 0x05, 0x00, // BTH
		0x2e, 0x00, 0x00, 0x00, // AETH
	}
	var p bth.Packet
	if err := p.Parse(raw, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v to QP %#x, PSN %v\n", p.Opcode, p.DestQP, p.PSN)
	if p.Opcode.Is(bth.HasAETH) {
		fmt.Println(p.AETH.Syndrome)
	}
	var b [bth.MaxHeaderLen]byte
	fmt.Printf("% x\n", b[:p.PutHeaders(b[:])])
	// Output:
	// RC Acknowledge to QP 0x56, PSN 1280
	// RNR NAK (wait 1.28ms)
	// 11 00 ff ff 00 00 00 56 00 00 05 00 2e 00 00 00
}
