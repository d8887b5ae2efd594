package decode

import (
	"fmt"

	"github.com/rocinante-rdma/roce/cm/mad"
)

// label says in one line what a datagram to QP1 is.
func (c *CM) label() string {
	switch m := c.Message.(type) {
	case *mad.REQ:
		return "CM REQ: connect to " + m.Service.String() + caller(m.PrivateData) +
			fmt.Sprintf(", my QP 0x%x, send me from PSN %d, MTU %d", m.LocalQPN, m.StartingPSN, mtuOf(m.MTU))
	case *mad.REP:
		return fmt.Sprintf("CM REP: accepted, my QP 0x%x, send me from PSN %d", m.LocalQPN, m.StartingPSN)
	case *mad.RTU:
		return "CM RTU: ready to use"
	case *mad.REJ:
		return fmt.Sprintf("CM REJ: %s refused: %s", phaseName(m.Message), m.Reason)
	case *mad.MRA:
		return fmt.Sprintf("CM MRA: %s received, wait for the answer", phaseName(m.Message))
	case *mad.DREQ:
		return fmt.Sprintf("CM DREQ: disconnect your QP 0x%x", m.RemoteQPN)
	case *mad.DREP:
		return "CM DREP: disconnected"
	case *mad.SIDRReq:
		return "CM SIDR_REQ: which QP serves " + m.Service.String() + caller(m.PrivateData) + "?"
	case *mad.SIDRRep:
		return sidrLabel(m)
	}
	return fmt.Sprintf("management datagram, class 0x%02x, %s: %v", c.Class, c.Header.Attribute, c.Err)
}

// caller names the calling address, if the private data tells it.
func caller(private mad.Data) string {
	a, _, ok := mad.ParseAddress(private)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" from port %d", a.SrcPort)
}

func sidrLabel(m *mad.SIDRRep) string {
	if m.Status != 0 {
		return "CM SIDR_REP: " + m.Status.String()
	}
	return fmt.Sprintf("CM SIDR_REP: QP 0x%x qkey 0x%x", m.QPN, m.QKey)
}

func phaseName(p mad.Phase) string {
	switch p {
	case mad.PhaseREQ:
		return "REQ"
	case mad.PhaseREP:
		return "REP"
	default:
		return "message"
	}
}

// mtuOf is the number of bytes that an MTU code stands for (IBTA vol. 1, 9.6.1).
func mtuOf(code uint8) int {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}
