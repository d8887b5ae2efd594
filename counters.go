package roce

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/transport"
)

// CounterID is one of a device's counters. Most have the names and meanings of those
// that RDMA adapters show in /sys/class/infiniband/…/hw_counters: docs/counters.md
// compares them.
type CounterID uint8

// The counters: first those of both sides of a connection, then those of the requester,
// which sends requests, and of the responder, which carries them out.
const (
	CounterRxPackets CounterID = iota
	CounterTxPackets
	CounterRxBytes
	CounterTxBytes
	CounterRxDropped
	CounterRxICRCEncapsulated
	CounterNPECNMarkedRoCEPackets
	CounterNPCNPSent
	CounterRPCNPHandled
	CounterRPCNPIgnored

	CounterTxRetransmits
	CounterPacketSeqErr
	CounterImpliedNAKSeqErr
	CounterRNRNAKRetryErr
	CounterLocalAckTimeoutErr
	CounterReqTransportRetriesExceeded
	CounterReqRNRRetriesExceeded
	CounterReqRemoteInvalidRequest
	CounterReqRemoteAccessErrors
	CounterReqRemoteOperationErrors
	CounterReqCQEError
	CounterReqCQEFlushError

	CounterRxWriteRequests
	CounterRxReadRequests
	CounterRxAtomicRequests
	CounterRDMARecvs
	CounterOutOfSequence
	CounterOutOfSeqRequest
	CounterDuplicateRequest
	CounterOutOfBuffer
	CounterRespLocalLengthError
	CounterRespRemoteAccessErrors
	CounterRespCQEError
	CounterRespCQEFlushError

	NumCounters // how many there are
)

// Side is the half of a queue pair that a counter is about.
type Side uint8

// Sides.
const (
	BothSides Side = iota
	Requester      // sends requests and takes their answers
	Responder      // carries out requests and answers them
)

// String names the side.
func (s Side) String() string {
	switch s {
	case Requester:
		return "requester"
	case Responder:
		return "responder"
	default:
		return "both"
	}
}

// counterTable tells of every counter what it is, and how it follows from what the
// engine counts.
var counterTable = [NumCounters]struct {
	name string
	side Side
	unit string
	help string
	of   func(*engine.Counters) uint64
}{
	CounterRxPackets: {"rx_packets", BothSides, "packets", "received, before any check",
		func(c *engine.Counters) uint64 { return c.RxPackets }},
	CounterTxPackets: {"tx_packets", BothSides, "packets", "sent",
		func(c *engine.Counters) uint64 { return c.TxPackets }},
	CounterRxBytes: {"rx_bytes", BothSides, "bytes", "received, from the BTH to the ICRC",
		func(c *engine.Counters) uint64 { return c.RxBytes }},
	CounterTxBytes: {"tx_bytes", BothSides, "bytes", "sent, from the BTH to the ICRC",
		func(c *engine.Counters) uint64 { return c.TxBytes }},
	CounterRxDropped: {"rx_dropped", BothSides, "packets", "dropped before any queue pair had them, for whatever reason",
		func(c *engine.Counters) (n uint64) {
			for _, m := range c.ByRule[transport.RuleShort:transport.RuleInOrder] {
				n += m
			}
			return n
		}},
	CounterRxICRCEncapsulated: {"rx_icrc_encapsulated", BothSides, "packets", "dropped, as their ICRC was wrong",
		func(c *engine.Counters) uint64 { return c.ByRule[transport.RuleICRC] }},
	CounterNPECNMarkedRoCEPackets: {"np_ecn_marked_roce_packets", BothSides, "packets", "received with a switch's mark of congestion",
		func(c *engine.Counters) uint64 { return c.Marked }},
	CounterNPCNPSent: {"np_cnp_sent", BothSides, "packets", "congestion notifications sent",
		func(c *engine.Counters) uint64 { return c.ByCause[transport.CauseCNP] }},
	CounterRPCNPHandled: {"rp_cnp_handled", BothSides, "packets", "congestion notifications that a queue pair with DCQCN received",
		func(c *engine.Counters) uint64 { return c.ByRule[transport.RuleCNP] }},
	CounterRPCNPIgnored: {"rp_cnp_ignored", BothSides, "packets", "congestion notifications to queue pairs without DCQCN, or to none",
		func(c *engine.Counters) uint64 { return c.ByRule[transport.RuleCNPIgnored] + c.CNPsDropped }},

	CounterTxRetransmits: {"tx_retransmits", Requester, "packets", "requests sent again",
		func(c *engine.Counters) uint64 { return c.QPs.Retransmitted }},
	CounterPacketSeqErr: {"packet_seq_err", Requester, "NAKs", "the peer missed a packet: sent again from there",
		func(c *engine.Counters) uint64 { return c.ByRule[transport.RuleNAKSequence] }},
	CounterImpliedNAKSeqErr: {"implied_nak_seq_err", Requester, "responses", "showed that data of a READ or the answer of an atomic was lost: asked for again",
		func(c *engine.Counters) uint64 {
			return c.ByRule[transport.RuleImpliedNAK] + c.ByRule[transport.RuleReadGap]
		}},
	CounterRNRNAKRetryErr: {"rnr_nak_retry_err", Requester, "RNR NAKs", "the peer had no receive posted: waited, then sent again",
		func(c *engine.Counters) uint64 { return c.QPs.RNRWaits }},
	CounterLocalAckTimeoutErr: {"local_ack_timeout_err", Requester, "timeouts", "nothing was acknowledged in time: sent again", recoverableTimeouts},
	CounterReqTransportRetriesExceeded: {"req_transport_retries_exceeded", Requester, "queue pairs", "failed, as the retry count was used up",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusRetryExceeded] }},
	CounterReqRNRRetriesExceeded: {"req_rnr_retries_exceeded", Requester, "queue pairs", "failed, as the RNR retry count was used up",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusRNRRetryExceeded] }},
	CounterReqRemoteInvalidRequest: {"req_remote_invalid_request", Requester, "queue pairs", "failed, as the peer refused a request as invalid",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusRemoteInvalid] }},
	CounterReqRemoteAccessErrors: {"req_remote_access_errors", Requester, "queue pairs", "failed, as the peer refused access to its memory",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusRemoteAccess] }},
	CounterReqRemoteOperationErrors: {"req_remote_operation_errors", Requester, "queue pairs", "failed, as the peer could not carry a request out",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusRemoteOperation] }},
	CounterReqCQEError: {"req_cqe_error", Requester, "completions", "of work posted to send queues, with an error or flushed",
		func(c *engine.Counters) uint64 { return failures(&c.SendDone) }},
	CounterReqCQEFlushError: {"req_cqe_flush_error", Requester, "completions", "of work posted to send queues, flushed",
		func(c *engine.Counters) uint64 { return c.SendDone[cq.StatusFlushed] }},

	CounterRxWriteRequests: {"rx_write_requests", Responder, "messages", "WRITEs of peers that were carried out",
		func(c *engine.Counters) uint64 { return c.QPs.Writes }},
	CounterRxReadRequests: {"rx_read_requests", Responder, "messages", "READs of peers that were carried out",
		func(c *engine.Counters) uint64 { return c.QPs.Reads }},
	CounterRxAtomicRequests: {"rx_atomic_requests", Responder, "messages", "atomics of peers that were carried out",
		func(c *engine.Counters) uint64 { return c.QPs.Atomics }},
	CounterRDMARecvs: {"rdma_recvs", Responder, "completions", "of receives, successful",
		func(c *engine.Counters) uint64 { return c.RecvDone[cq.StatusSuccess] }},
	CounterOutOfSequence: {"out_of_sequence", Responder, "packets", "came while one before them was missing",
		func(c *engine.Counters) (n uint64) {
			for _, m := range c.ByRule[transport.RuleGap:transport.RuleFilled] {
				n += m
			}
			return n
		}},
	CounterOutOfSeqRequest: {"out_of_seq_request", Responder, "gaps", "noticed, and told to the peer by a NAK",
		func(c *engine.Counters) uint64 { return c.QPs.Gaps }},
	CounterDuplicateRequest: {"duplicate_request", Responder, "packets", "of requests that had been carried out before",
		func(c *engine.Counters) uint64 { return c.QPs.Duplicates }},
	CounterOutOfBuffer: {"out_of_buffer", Responder, "packets", "dropped, as no receive was posted: the peer is told to wait",
		func(c *engine.Counters) uint64 { return c.QPs.RNRNAKs }},
	CounterRespLocalLengthError: {"resp_local_length_error", Responder, "completions", "of receives that were too short for their message",
		func(c *engine.Counters) uint64 { return c.RecvDone[cq.StatusLocalLength] }},
	CounterRespRemoteAccessErrors: {"resp_remote_access_errors", Responder, "queue pairs", "failed, as the peer asked for memory that it may not touch",
		func(c *engine.Counters) uint64 { return c.QPs.AccessErrors }},
	CounterRespCQEError: {"resp_cqe_error", Responder, "completions", "of receives, with an error or flushed",
		func(c *engine.Counters) uint64 { return failures(&c.RecvDone) }},
	CounterRespCQEFlushError: {"resp_cqe_flush_error", Responder, "completions", "of receives, flushed",
		func(c *engine.Counters) uint64 { return c.RecvDone[cq.StatusFlushed] }},
}

// recoverableTimeouts leaves out the timeouts that used up the retries. Those are the
// failures that no packet set off.
func recoverableTimeouts(c *engine.Counters) uint64 {
	fatal := c.SendDone[cq.StatusRetryExceeded] - c.ByRule[transport.RuleRetryExceeded]
	return c.QPs.Timeouts - fatal
}

// failures counts the completions that were no success.
func failures(byStatus *[cq.NumStatuses]uint64) (n uint64) {
	for _, m := range byStatus[cq.StatusSuccess+1:] {
		n += m
	}
	return n
}

// String is the counter's name, such as "out_of_sequence".
func (c CounterID) String() string {
	if c < NumCounters {
		return counterTable[c].name
	}
	return fmt.Sprintf("counter %d", uint8(c))
}

// Side is the half of a queue pair that the counter is about.
func (c CounterID) Side() Side { return counterTable[c].side }

// Unit is what the counter counts, such as "packets".
func (c CounterID) Unit() string { return counterTable[c].unit }

// Help says of the counter's unit which ones are counted.
func (c CounterID) Help() string { return counterTable[c].help }

// Counters are the values of all counters at one moment, by [CounterID].
type Counters [NumCounters]uint64

// All goes through all counters, also those that are zero.
func (c Counters) All() iter.Seq2[CounterID, uint64] {
	return func(yield func(CounterID, uint64) bool) {
		for id, value := range c {
			if !yield(CounterID(id), value) {
				return
			}
		}
	}
}

// Sub is what was counted since an earlier moment of the same device.
func (c Counters) Sub(earlier Counters) Counters {
	for id := range c {
		c[id] -= earlier[id]
	}
	return c
}

// MarshalJSON gives an object of all counters by their names.
func (c Counters) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for id, value := range c.All() {
		if id > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", id, value)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads such an object. Counters that it lacks, or that are unknown here,
// were counted by another version: the former are 0, the latter left out.
func (c *Counters) UnmarshalJSON(text []byte) error {
	var byName map[string]uint64
	if err := json.Unmarshal(text, &byName); err != nil {
		return fmt.Errorf("roce: read counters: %w", err)
	}
	for id := range c {
		c[id] = byName[CounterID(id).String()]
	}
	return nil
}

// Counters returns what the device counted since it was opened, also after it was
// closed: all of one moment. It keeps the device from its work for some nanoseconds
// per queue pair [rdma statistic show].
func (d *Device) Counters() (all Counters) {
	c := d.shard.Counters()
	for id := range all {
		all[id] = counterTable[id].of(&c)
	}
	return all
}
