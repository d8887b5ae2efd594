package decode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Whatever makes a CNP other than annex A17 has it is found, and nothing else is.
func TestOddCNPs(t *testing.T) {
	for want, change := range map[string]func(*bth.Packet){
		"":                                       nil,
		"odd for a CNP: its BECN bit is not set": func(p *bth.Packet) { p.BECN = false },
		"odd for a CNP: its PSN is 5, not 0":     func(p *bth.Packet) { p.PSN = 5 },
		"odd for a CNP: it asks for an acknowledgement": func(p *bth.Packet) { p.AckReq = true },
	} {
		var c connection
		c.notify(change)
		require.Equal(t, want, oddities(c.annotate()))
	}

	var c connection
	c.send(bob, alice, bth.Packet{Opcode: bth.CNP, DestQP: 0x10, BECN: true}, 4)
	require.Equal(t, "odd for a CNP: it is 36 bytes long, not 32", oddities(c.annotate()))

	// Bytes of the captured frame: the ICRC, which covers them, is made anew.
	frame := seal(wire.Headers{Src: bob, Dst: alice, DstPort: wire.Port, HopLimit: 64, Flags: wire.DontFragment},
		bth.Packet{Opcode: bth.RCAcknowledge, DestQP: 0x10, BECN: true}, append(make([]byte, 11), 1)) // 4 bytes of AETH, 12 of payload
	frame[wire.EthernetLen+wire.IPv4Len+wire.UDPLen] = byte(bth.CNP)
	r := Record{Link: LinkEthernet, Data: frame, Length: len(frame)}
	p := Decode(&r)
	noteShape(p)
	require.Equal(t, "odd for a CNP: its reserved bytes are not zero", oddities([]*Packet{p}))
}

// oddities are the notes on the shape of CNPs.
func oddities(packets []*Packet) (found string) {
	for _, p := range packets {
		for _, n := range p.Notes {
			if n.Kind == NoteOddCNP {
				found += n.Text
			}
		}
	}
	return found
}
