package qp

import "github.com/rocinante-rdma/roce/mr"

// Op is the operation of a send work request [ibv_wr_opcode].
type Op uint8

// Operations.
const (
	OpWrite Op = iota
	OpWriteImm
	OpSend
	OpSendImm
	OpRead
	OpCompareSwap
	OpFetchAdd
	OpLocalInv
	OpBindMW
	OpSendInv
	numOps
)

var opNames = [numOps]string{
	"RDMA WRITE", "RDMA WRITE with immediate", "SEND", "SEND with immediate", "RDMA READ", "CmpSwap", "FetchAdd",
	"local invalidate", "bind memory window", "SEND with invalidate",
}

// String names the operation.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "unknown operation"
}

// Reads reports whether the operation waits for data from the peer: a READ or atomic.
func (o Op) Reads() bool { return o >= OpRead && o <= OpFetchAdd }

// ConsumesRecv reports whether the operation needs a receive of the peer's.
func (o Op) ConsumesRecv() bool {
	return o == OpSend || o == OpSendImm || o == OpSendInv || o == OpWriteImm
}

// Atomic reports whether the operation is a CmpSwap or FetchAdd.
func (o Op) Atomic() bool { return o == OpCompareSwap || o == OpFetchAdd }

// Local reports whether the operation sends nothing: it changes a memory window.
func (o Op) Local() bool { return o == OpLocalInv || o == OpBindMW }

// Flags modify a send work request, with the values of ibv_send_flags.
type Flags uint8

// Flags.
const (
	Fence     Flags = 1 << 0 // wait for all earlier READs and atomics of this QP; OpLocalInv waits for all work, with it or without
	Signaled  Flags = 1 << 1 // complete with a WC even on success
	Solicited Flags = 1 << 2 // ask the receiver to raise a solicited event
	Inline    Flags = 1 << 3 // copy the data while posting; the buffers are free at once
)

// SGE is a scatter/gather element: a piece of a local memory region.
type SGE struct {
	Addr uint64 // address in the region's address space (its IOVA)
	Len  uint32 // bytes
	LKey mr.Key
}

// SendWR is a send work request [ibv_send_wr]. Posting copies it: the caller may
// change it and its SGL at once. The memory that it names belongs to the queue
// pair until the work completes.
type SendWR struct {
	ID    uint64 // returned in the completion
	Op    Op
	Flags Flags
	// SGE is the local buffer, when it is one piece (Len 0: none): what is sent, or
	// where a READ's data goes, or the 8 bytes that get an atomic's original value in
	// host byte order.
	SGE SGE
	SGL []SGE  // the local buffer in several pieces; then SGE must be zero
	Imm uint32 // immediate data, host order

	RemoteAddr uint64 // RDMA and atomics: in the address space of the peer's region
	// RKey is the peer's key for RDMA and atomics; OpSendInv: the one of the peer's
	// that is invalidated when it has the message; OpLocalInv: our own window's.
	RKey mr.Key
	Bind *mr.Binding // OpBindMW

	Compare uint64 // CmpSwap: what must be there
	Swap    uint64 // CmpSwap: the new value
	Add     uint64 // FetchAdd: the addend
}

// RecvWR is a receive work request [ibv_recv_wr]. It is copied, and its memory
// lent, as those of [SendWR].
type RecvWR struct {
	ID  uint64 // returned in the completion
	SGE SGE    // the buffer, when there is one piece (Len 0: none)
	SGL []SGE  // the buffer in several pieces; then SGE must be zero
}
