package decode

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// noteShape finds CNPs that are not as IBTA annex A17 has them: BECN set, AckReq not,
// PSN 0, and sixteen reserved bytes of zero.
func noteShape(p *Packet) {
	b := &p.BTH
	for _, rule := range []struct {
		broken bool
		words  string
	}{
		{!b.BECN, "its BECN bit is not set"},
		{b.AckReq, "it asks for an acknowledgement"},
		{b.PSN != 0, fmt.Sprintf("its PSN is %d, not 0", b.PSN)},
		{len(p.Frame) != cnpLen, fmt.Sprintf("it is %d bytes long, not %d", len(p.Frame), cnpLen)},
		{!p.reservedZero(), "its reserved bytes are not zero"},
	} {
		if rule.broken {
			p.note(NoteOddCNP, "odd for a CNP: "+rule.words)
		}
	}
}

// cnpLen is a whole CNP, from the BTH to the ICRC.
const cnpLen = bth.BTHLen + bth.CNPReservedLen + wire.ICRCLen

// reservedZero reports whether a CNP's reserved bytes are zero.
func (p *Packet) reservedZero() bool {
	return [bth.CNPReservedLen]byte(p.Frame[bth.BTHLen:]) == [bth.CNPReservedLen]byte{}
}
