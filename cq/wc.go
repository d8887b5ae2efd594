package cq

import "fmt"

// Status is a work completion's outcome, with the values of ibv_wc_status.
type Status uint8

// Statuses of reliable connections.
const (
	StatusSuccess          Status = 0
	StatusLocalLength      Status = 1
	StatusLocalQPOperation Status = 2
	StatusLocalProtection  Status = 4
	StatusFlushed          Status = 5
	StatusMWBind           Status = 6
	StatusBadResponse      Status = 7
	StatusLocalAccess      Status = 8
	StatusRemoteInvalid    Status = 9
	StatusRemoteAccess     Status = 10
	StatusRemoteOperation  Status = 11
	StatusRetryExceeded    Status = 12
	StatusRNRRetryExceeded Status = 13
	StatusFatal            Status = 19
	StatusGeneral          Status = 21

	NumStatuses = 22 // one more than the largest
)

var statusNames = [...]string{
	"success", "local length error", "local QP operation error", "local EE context operation error",
	"local protection error", "Work Request Flushed Error", "memory management operation error",
	"bad response error", "local access error", "remote invalid request error", "remote access error",
	"remote operation error", "transport retry counter exceeded", "RNR retry counter exceeded",
	"local RDD violation error", "remote invalid RD request", "aborted error",
	"invalid EE context number", "invalid EE context state", "fatal error", "response timeout error",
	"general error",
}

// String gives the wording of ibv_wc_status_str.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Opcode is the kind of work that completed, with the values of ibv_wc_opcode.
type Opcode uint8

// Completion opcodes.
const (
	OpSend             Opcode = 0
	OpRDMAWrite        Opcode = 1
	OpRDMARead         Opcode = 2
	OpCompareSwap      Opcode = 3
	OpFetchAdd         Opcode = 4
	OpBindMW           Opcode = 5
	OpLocalInv         Opcode = 6
	OpRecv             Opcode = 128
	OpRecvRDMAWithImm  Opcode = 129
	opcodeReceiveRange        = 128
)

// String names the opcode.
func (o Opcode) String() string {
	switch o {
	case OpSend:
		return "SEND"
	case OpRDMAWrite:
		return "RDMA_WRITE"
	case OpRDMARead:
		return "RDMA_READ"
	case OpCompareSwap:
		return "COMP_SWAP"
	case OpFetchAdd:
		return "FETCH_ADD"
	case OpBindMW:
		return "BIND_MW"
	case OpLocalInv:
		return "LOCAL_INV"
	case OpRecv:
		return "RECV"
	case OpRecvRDMAWithImm:
		return "RECV_RDMA_WITH_IMM"
	}
	return fmt.Sprintf("opcode %d", uint8(o))
}

// Recv reports whether the completion is of the receive queue.
func (o Opcode) Recv() bool { return o >= opcodeReceiveRange }

// Flags say which optional fields of a WC are set.
type Flags uint8

// Flags, with the values of their namesakes in ibv_wc_flags.
const (
	WithImm Flags = 1 << 1
	WithInv Flags = 1 << 3
)

// WC is a work completion [ibv_wc]. When Status is not [StatusSuccess] only ID,
// Status, VendorErr and QPN mean anything.
type WC struct {
	ID        uint64 // the work request's ID
	Status    Status
	Opcode    Opcode
	Flags     Flags
	VendorErr uint32 // transport.Rule that failed the work, 0 if none
	ByteLen   uint32 // bytes received, read, or written with immediate
	Imm       uint32 // immediate data, host order, when Flags has WithImm
	// InvalidatedKey is the R_Key that the peer's SEND invalidated, when Flags has
	// WithInv: the window that had it is not bound any more.
	InvalidatedKey uint32
	QPN            uint32 // local queue pair
	SrcQP          uint32 // remote queue pair
}

// String shows the fields that mean anything.
func (w WC) String() string {
	switch {
	case w.Status != StatusSuccess:
		return fmt.Sprintf("work %d on QP 0x%x: %s", w.ID, w.QPN, w.Status)
	case w.Flags&WithImm != 0:
		return fmt.Sprintf("work %d on QP 0x%x: %s of %d bytes, immediate 0x%x", w.ID, w.QPN, w.Opcode, w.ByteLen, w.Imm)
	case w.Flags&WithInv != 0:
		return fmt.Sprintf("work %d on QP 0x%x: %s of %d bytes, R_Key 0x%08x invalidated", w.ID, w.QPN, w.Opcode, w.ByteLen, w.InvalidatedKey)
	default:
		return fmt.Sprintf("work %d on QP 0x%x: %s of %d bytes", w.ID, w.QPN, w.Opcode, w.ByteLen)
	}
}
