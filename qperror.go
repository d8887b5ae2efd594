package roce

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
)

// QPError says why a queue pair went to ERR: the first cause, whatever followed.
type QPError struct {
	QPN     uint32
	PeerQPN uint32
	Peer    netip.Addr
	PSN     bth.PSN        // of the packet that decided it
	Rule    transport.Rule // what it broke, or what ran out
	Status  Status         // of the work that failed
	Remote  bool           // the peer said so, or its request was at fault
}

// Error says what happened, where, and what to do.
func (e *QPError) Error() string {
	s := fmt.Sprintf("roce: QP 0x%06x, connected to QP 0x%06x at %v, is in ERR: %s (PSN %d)",
		e.QPN, e.PeerQPN, e.Peer, e.Rule, e.PSN)
	if r := e.remedy(); r != "" {
		s += "; " + r
	}
	return s
}

func (e *QPError) remedy() string {
	switch e.Rule {
	case transport.RuleRetryExceeded:
		return "check that the peer runs, is connected to this QP, and that its address and UDP port 4791 can be reached with this path MTU"
	case transport.RuleRNRExceeded:
		return "the peer has to post receives earlier, or connect with a larger RNR retry count"
	case transport.RuleRemoteAccess:
		return "check key, address, length and rights of the peer's memory region or window, that a window is still bound, and that the region is in the PD of the peer's QP"
	case transport.RuleRemoteInvalid:
		return "check that both ends use the same path MTU, that the peer's receives are long enough, what its QP and READ limits permit, and that an atomic's address is a multiple of 8"
	case transport.RuleRemoteOp:
		return "look at the peer: it could not carry the request out"
	case transport.RuleTooLong:
		return "post longer receives, or have the peer send less"
	case transport.RuleKey, transport.RulePD, transport.RuleAccess, transport.RuleRange:
		return "the peer asked for memory that it may not touch: check what it was given, and that no region was closed and no window invalidated meanwhile"
	case transport.RuleWindowQP:
		return "the peer has to use a window through the connection that it was bound for"
	case transport.RuleInvalidate:
		if e.Remote {
			return "the peer must invalidate only keys of windows that were bound to this connection, and each once"
		}
		return "invalidate only keys of windows that are bound to this queue pair; the peer may have done it already"
	case transport.RuleBindGone:
		return "keep window and region open until the bind has completed, and make a request for each bind (MW.Bind)"
	case transport.RuleBindPD:
		return "make window, region and queue pair from one PD"
	case transport.RuleBindAgain:
		return "invalidate the window before it is bound again"
	case transport.RuleBindAccess:
		return "register the region with AccessMWBind, with AccessLocalWrite if the peer shall write, and not zero based; a window grants remote rights only"
	case transport.RuleBindRange:
		return "bind at least one byte, of the region"
	case transport.RuleBindMisaligned:
		return "for atomics choose an offset whose address in the window and whose place in memory are equal modulo 8"
	case transport.RuleMisaligned:
		return "the peer has to give its atomics addresses that are multiples of 8"
	case transport.RuleNotPermitted:
		return "create the queue pair with more Access, if the peer shall be able to do that"
	case transport.RuleTooManyReads:
		return "connect both ends with WithReadLimits that fit each other"
	case transport.RuleNoReads:
		return "connect with WithReadLimits of at least 1"
	case transport.RuleWorkMemory:
		return "check that the SGEs lie in regions of this PD that are not closed yet, READs and atomics in ones with local write access"
	case transport.RuleLocalMemory, transport.RuleResponseMemory:
		return "check that the SGEs lie in regions with local write access that are not closed yet"
	case transport.RuleLength, transport.RuleDMALength:
		return "check that both ends use the same path MTU, and that no message is longer than 2^31 bytes, nor a READ over path MTU 256 than 2^31 - 256"
	case transport.RuleCQOverflow:
		return "create the CQ as deep as all the queues together that feed it, or poll it earlier"
	case transport.RuleBadResponse:
		return "check that both ends use the same path MTU; else the peer breaks the protocol, and a trace shows the packet (WithTap)"
	case transport.RuleSequence, transport.RuleReserved, transport.RuleUnsupported:
		return "the peer breaks the protocol, or speaks a part of it that is not offered here: a trace shows the packet (WithTap)"
	default:
		return ""
	}
}

// waitedFor says in words what kept work from completing, if the peer did.
func (q *QP) waitedFor() string {
	switch s := q.Stats(); {
	case s.RNRWaits > 0:
		return fmt.Sprintf("; the peer said %d times that it has no receive posted", s.RNRWaits)
	case s.Timeouts > 0:
		return fmt.Sprintf("; the peer was silent for %d timeouts", s.Timeouts)
	default:
		return ""
	}
}

// connection names the queue pair and its peer in messages.
func (q *QP) connection() string {
	peer := q.Attr()
	return fmt.Sprintf("%s, connected to QP 0x%06x at %v", q, peer.DestQPN, peer.DestAddr)
}

// Err returns nil unless the queue pair is in ERR. Then it is a *[QPError] if it
// went there by itself, else an error that matches [ErrFlushed].
func (q *QP) Err() error {
	s := q.qp.Snapshot()
	if s.Attr.State != StateErr {
		return nil
	}
	if !s.Failed {
		return fmt.Errorf("roce: %s, was taken to ERR, by its owner or with its device: %w; to use it again, bring it to RESET and connect it",
			q.connection(), ErrFlushed)
	}
	f := s.Failure
	return &QPError{
		QPN: q.QPN(), PeerQPN: s.Attr.DestQPN, Peer: s.Attr.DestAddr,
		PSN: f.PSN, Rule: f.Rule, Status: f.Status, Remote: f.Remote,
	}
}
