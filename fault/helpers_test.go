package fault_test

import (
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/wire"
)

const qpn = 0x22

// packet is a packet with 64 bytes of payload.
func packet(op bth.Opcode, psn bth.PSN) []byte {
	p := bth.Packet{Opcode: op, PSN: psn, DestQP: qpn, AETH: bth.AETH{Syndrome: bth.ACKUnlimited}}
	b := make([]byte, op.HeaderLen()+64+wire.ICRCLen)
	p.PutHeaders(b)
	return b
}

// answer is an Acknowledge.
func answer(s bth.Syndrome) []byte {
	p := bth.Packet{Opcode: bth.RCAcknowledge, DestQP: qpn, AETH: bth.AETH{Syndrome: s}}
	b := make([]byte, p.Opcode.HeaderLen()+wire.ICRCLen)
	p.PutHeaders(b)
	return b
}

// judged sends packets from a to b and notes what becomes of each: its place in the
// list, if it was struck.
func judged(s *fault.Set, packets ...[]byte) (struck string) {
	var places []string
	for i, b := range packets {
		if s.Judge(fault.Frame{From: "a", To: "b", Payload: b, ECN: wire.ECT0}) != (fault.Fate{}) {
			places = append(places, fmt.Sprint(i))
		}
	}
	return strings.Join(places, " ")
}

// set is a set of the rules of a script.
func set(script string) (*fault.Set, []*fault.Rule, error) {
	rules, err := fault.Parse(script)
	s := new(fault.Set)
	s.Add(rules...)
	return s, rules, err
}
