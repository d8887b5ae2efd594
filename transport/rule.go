package transport

// Rule is the rule that decided a packet's fate. Every rule is a counter of the
// device and a sentence in the trace.
type Rule uint8

// Rules of the way to a QP: header checks and demux (IBTA vol. 1, 9.6). A packet
// that breaks one is dropped without an answer.
const (
	RuleNone         Rule = iota
	RuleShort             // shorter than its headers, pad and ICRC
	RuleICRC              // invariant CRC mismatch
	RuleOpcode            // undefined opcode
	RuleVersion           // transport header version
	RuleNoQP              // no such destination QP
	RuleManagementQP      // QP0, refused; QP1 without a management agent
	RuleServiceType       // opcode of another transport service
	RuleState             // the QP's state takes no such packets
	RulePKey              // partition key mismatch
	RuleAddress           // source or destination is not the connected peer
	RuleVLAN              // not on the connection's VLAN
	RuleFragment          // link fragments that no packet can be cut from

	// Responder.
	RuleInOrder         // the expected request
	RuleDuplicateSend   // a SEND or WRITE already executed: acknowledged again
	RuleDuplicateRead   // a READ already answered: answered again
	RuleDuplicateAtomic // an atomic already executed: its saved result is sent again
	RuleForgotten       // a duplicate READ or atomic whose resources were reused
	RuleMismatch        // a duplicate READ that asks for something else than the original
	RuleGap             // a request beyond the expected PSN: one NAK until it arrives
	RuleGapAgain        // the same gap: no second NAK
	RuleHeld            // the same gap: kept until its turn
	RuleHeldAgain       // the same gap: such a packet is held already
	RuleNoRoom          // the same gap: no room to hold the packet
	RuleFilled          // the expected request, which others were held for
	RuleNotReady        // no receive WQE: RNR NAK
	RuleSequence        // opcode does not follow the previous one
	RuleReserved        // reserved operation
	RuleUnsupported     // a defined operation that this responder does not offer
	RuleNotPermitted    // the QP's access flags do not permit the operation
	RuleLength          // payload or pad of the wrong length for its opcode
	RuleTooLong         // message longer than the receive WQE
	RuleDMALength       // WRITE payload and RETH length disagree, or RETH length > 2^31
	RuleTooManyReads    // more READs and atomics than max_dest_rd_atomic
	RuleMisaligned      // atomic address not a multiple of 8
	RuleKey             // R_Key unknown
	RulePD              // R_Key of another protection domain
	RuleAccess          // region or window does not permit it
	RuleRange           // outside the region or window
	RuleWindowQP        // the window is bound to another queue pair
	RuleInvalidate      // the R_Key to invalidate is not that of a window of this QP
	RuleKeyInUse        // the R_Key to invalidate is needed to answer READs first
	RuleLocalMemory     // the receive WQE's own memory is not valid

	// Completer.
	RuleAck            // acknowledges up to its PSN
	RuleReadData       // the expected READ response
	RuleReadDone       // the READ's last response
	RuleAtomicDone     // the atomic's answer
	RuleOldResponse    // response to something already completed
	RuleGhost          // response to something never sent
	RuleImpliedNAK     // a later request is answered: an earlier READ or atomic answer is lost
	RuleReadGap        // a READ response beyond the next expected one
	RuleNAKSequence    // the peer asks for a retransmission
	RuleNAKAgain       // a retransmission is already under way
	RuleRNR            // the peer asks to wait
	RuleRetryExceeded  // sequence retries used up
	RuleRNRExceeded    // RNR retries used up
	RuleRemoteInvalid  // the peer refused: invalid request
	RuleRemoteAccess   // the peer refused: remote access error
	RuleRemoteOp       // the peer refused: remote operational error
	RuleBadResponse    // response of the wrong kind, length or syndrome
	RuleResponseMemory // local memory of a READ or atomic is gone
	RuleCNP            // congestion notification, obeyed
	RuleCNPIgnored     // congestion notification to a QP without DCQCN
	RuleWorkMemory     // memory of the send work request is not valid
	RuleBindGone       // bind: window or region are closed, or the request was used before
	RuleBindPD         // bind: not all of one protection domain
	RuleBindAgain      // bind: the window is bound already
	RuleBindAccess     // bind: the region permits no such window
	RuleBindRange      // bind: empty, or outside the region
	RuleBindMisaligned // bind: atomics could not be aligned
	RuleNoReads        // READ or atomic on a connection set up without any
	RuleCQOverflow     // a completion queue was given more than it holds
	RuleFlushed        // work flushed because the QP is in ERR
	RuleNothingAsked   // response while nothing is outstanding

	NumRules // how many there are
)

var ruleWords = [...]string{
	RuleNone:         "no rule",
	RuleShort:        "packet shorter than its headers, pad and ICRC",
	RuleICRC:         "bad ICRC: corrupted, or addresses changed in flight",
	RuleOpcode:       "undefined opcode",
	RuleVersion:      "transport header version is not 0",
	RuleNoQP:         "no such destination QP",
	RuleManagementQP: "management QP not served here",
	RuleServiceType:  "opcode belongs to another transport service than the QP",
	RuleState:        "the QP's state does not accept it",
	RulePKey:         "partition key mismatch",
	RuleAddress:      "sender is not the connected peer",
	RuleVLAN:         "not on the VLAN of the connection",
	RuleFragment:     "no packet can be cut from these fragments",

	RuleInOrder:         "expected request",
	RuleDuplicateSend:   "duplicate, already executed; acknowledged again up to the newest",
	RuleDuplicateRead:   "duplicate READ; answered again",
	RuleDuplicateAtomic: "duplicate atomic; the saved result is sent again",
	RuleForgotten:       "duplicate READ or atomic whose resources were reused",
	RuleMismatch:        "duplicate READ asks for something else than the original",
	RuleGap:             "gap: one NAK until the expected packet arrives",
	RuleGapAgain:        "gap already reported; waiting for the expected packet",
	RuleHeld:            "gap already reported; its turn is behind the expected packet",
	RuleHeldAgain:       "gap already reported; a packet of this PSN is held already",
	RuleNoRoom:          "gap already reported; no room to hold what comes behind it",
	RuleFilled:          "expected request; others were held until it came",
	RuleNotReady:        "no receive posted: RNR NAK",
	RuleSequence:        "opcode does not follow the previous one of its message",
	RuleReserved:        "reserved operation",
	RuleUnsupported:     "operation not offered by this responder",
	RuleNotPermitted:    "operation not permitted by the QP's access flags",
	RuleLength:          "payload or pad length wrong for the opcode and path MTU",
	RuleTooLong:         "message longer than the posted receive",
	RuleDMALength:       "RETH length disagrees with the data, or exceeds 2^31",
	RuleTooManyReads:    "more READs and atomics outstanding than this responder takes",
	RuleMisaligned:      "atomic address is not a multiple of 8",
	RuleKey:             "R_Key unknown",
	RulePD:              "R_Key belongs to another protection domain",
	RuleAccess:          "memory region or window does not permit the access",
	RuleRange:           "outside the memory region or window",
	RuleWindowQP:        "memory window is bound to another queue pair",
	RuleInvalidate:      "R_Key to invalidate is not that of a memory window bound to this queue pair",
	RuleKeyInUse:        "R_Key to invalidate is still used by a READ: asked for again behind its answer",
	RuleLocalMemory:     "memory of the posted receive is not valid",

	RuleAck:            "acknowledges everything up to its PSN",
	RuleReadData:       "READ data in order",
	RuleReadDone:       "READ complete",
	RuleAtomicDone:     "atomic complete",
	RuleOldResponse:    "answers something already completed",
	RuleGhost:          "answers something never sent",
	RuleImpliedNAK:     "implied NAK: an earlier READ or atomic answer was lost",
	RuleReadGap:        "READ data missing before this packet",
	RuleNAKSequence:    "peer misses a packet: sending it again",
	RuleNAKAgain:       "retransmission already under way",
	RuleRNR:            "peer has no receive posted: waiting",
	RuleRetryExceeded:  "retry count used up",
	RuleRNRExceeded:    "RNR retry count used up",
	RuleRemoteInvalid:  "peer refused: invalid request",
	RuleRemoteAccess:   "peer refused: remote access error",
	RuleRemoteOp:       "peer refused: remote operational error",
	RuleBadResponse:    "response of the wrong kind, length or syndrome",
	RuleResponseMemory: "local memory for the answer is not valid",
	RuleCNP:            "congestion notification",
	RuleCNPIgnored:     "congestion notification to a queue pair without DCQCN",
	RuleWorkMemory:     "memory of the work request is not valid",
	RuleBindGone:       "memory window or region to bind is closed, or the request was carried out before",
	RuleBindPD:         "memory window, region and queue pair are not of one protection domain",
	RuleBindAgain:      "memory window is bound already",
	RuleBindAccess:     "memory region does not permit such a window",
	RuleBindRange:      "range to bind is empty or outside the memory region",
	RuleBindMisaligned: "atomics in the memory window could not be aligned",
	RuleNoReads:        "the connection was set up without READs and atomics",
	RuleCQOverflow:     "a completion queue was given more than it holds",
	RuleFlushed:        "flushed: the QP is in ERR",
	RuleNothingAsked:   "nothing is outstanding",
}

// String says the rule in words.
func (r Rule) String() string { return name(ruleWords[:], uint8(r), "rule") }

// HasPSN reports whether the rule speaks of a PSN: those on the way to a QP do not.
func (r Rule) HasPSN() bool { return r >= RuleInOrder && r != RuleCNP && r != RuleCNPIgnored }
