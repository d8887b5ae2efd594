package trace

import (
	"fmt"

	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Why says in words what the device did and for what reason: the cause of a sent
// packet, the verdict on a received one, what a congestion mark or notification asks of
// whom, and what is known of the ICRC unless it is simply good.
func (e *Event) Why() string {
	if e.QPN == 0 {
		return e.reason()
	}
	return fmt.Sprintf("QP 0x%x: %s", e.QPN, e.reason())
}

func (e *Event) reason() string {
	words := e.deed() + e.congestionWords()
	if e.ICRC == wire.ICRCGood || e.droppedForICRC() {
		return words
	}
	words += "; ICRC " + e.ICRC.String()
	if e.ICRC == wire.ICRCInferred {
		words += " (IPv4 identification unseen)"
	}
	return words
}

// droppedForICRC is when the verdict says already what the ICRC is.
func (e *Event) droppedForICRC() bool {
	return e.Dir == In && e.Verdict.Rule == transport.RuleICRC
}

func (e *Event) deed() string {
	if e.Dir == Out {
		return e.Cause.String()
	}
	return e.Verdict.String()
}
