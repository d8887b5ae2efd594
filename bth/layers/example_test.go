package layers_test

import (
	"encoding/hex"
	"fmt"

	"github.com/google/gopacket"
	gplayers "github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/bth/layers"
)

// Importing the package is enough for gopacket to know RoCEv2.
func Example() {
	frame, _ := hex.DecodeString("525400dd0002525400dd000308004500003c4c6440004011da340a0a00030a0a0002" +
		"c57e12b7002800000c00ffff0000002580b79874000055e3d805200000001bdd00000bb8c97af2d8")
	p := gopacket.NewPacket(frame, gplayers.LayerTypeEthernet, gopacket.Default)
	for _, l := range p.Layers() {
		fmt.Println(l.LayerType(), len(l.LayerContents()))
	}
	reth := p.Layer(layers.LayerTypeRETH).(*layers.RETH)
	fmt.Printf("read %d bytes at %#x\n", reth.Len, reth.VA)
	fmt.Println(layers.VerifyICRC(p))
	// Output:
	// Ethernet 14
	// IPv4 20
	// UDP 8
	// BTH 12
	// RETH 16
	// ICRC 4
	// read 3000 bytes at 0x55e3d8052000
	// true <nil>
}
