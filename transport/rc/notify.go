package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
)

// Notify makes a congestion notification packet (CNP) for the peer, whose packets a switch
// has marked (IBTA annex A17). It takes no PSN, and nothing acknowledges it: it may go before
// everything else. Whether and when one is due, its caller decides.
func (m *Machine) Notify(o *Out) {
	m.noPayload()
	m.pkt = bth.Packet{Opcode: bth.CNP, PKey: m.attr.PKey, BECN: true, DestQP: m.attr.DestQPN}
	m.emit(o, 0, transport.ClassCNP, transport.CauseCNP)
}
