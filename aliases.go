package roce

import (
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport/rc"
	"github.com/rocinante-rdma/roce/wire"
)

// Work requests and what they consist of.
type (
	// SendWR is a send work request [ibv_send_wr]; its fields are those of [qp.SendWR].
	SendWR = qp.SendWR
	// RecvWR is a receive work request [ibv_recv_wr]; its fields are those of [qp.RecvWR].
	RecvWR = qp.RecvWR
	// SGE is a scatter/gather element [ibv_sge]; its fields are those of [qp.SGE]. See [MR.SGE].
	SGE = qp.SGE
	// Op is the operation of a send work request [ibv_wr_opcode].
	Op = qp.Op
	// SendFlags modify a send work request [ibv_send_flags].
	SendFlags = qp.Flags
)

// Operations [ibv_wr_opcode].
const (
	OpWrite       = qp.OpWrite
	OpWriteImm    = qp.OpWriteImm
	OpSend        = qp.OpSend
	OpSendImm     = qp.OpSendImm
	OpRead        = qp.OpRead
	OpCompareSwap = qp.OpCompareSwap
	OpFetchAdd    = qp.OpFetchAdd
	OpLocalInv    = qp.OpLocalInv
	OpBindMW      = qp.OpBindMW
	OpSendInv     = qp.OpSendInv
)

// Flags of send work requests [ibv_send_flags].
const (
	Fence     = qp.Fence
	Signaled  = qp.Signaled
	Solicited = qp.Solicited
	Inline    = qp.Inline
)

// Completions.
type (
	// WC is a work completion [ibv_wc]; its fields are those of [cq.WC].
	WC = cq.WC
	// Status is a completion's outcome [ibv_wc_status].
	Status = cq.Status
	// WCOpcode is the kind of work that completed [ibv_wc_opcode].
	WCOpcode = cq.Opcode
)

// Statuses [ibv_wc_status].
const (
	StatusSuccess          = cq.StatusSuccess
	StatusLocalLength      = cq.StatusLocalLength
	StatusLocalQPOperation = cq.StatusLocalQPOperation
	StatusLocalProtection  = cq.StatusLocalProtection
	StatusFlushed          = cq.StatusFlushed
	StatusMWBind           = cq.StatusMWBind
	StatusBadResponse      = cq.StatusBadResponse
	StatusLocalAccess      = cq.StatusLocalAccess
	StatusRemoteInvalid    = cq.StatusRemoteInvalid
	StatusRemoteAccess     = cq.StatusRemoteAccess
	StatusRemoteOperation  = cq.StatusRemoteOperation
	StatusRetryExceeded    = cq.StatusRetryExceeded
	StatusRNRRetryExceeded = cq.StatusRNRRetryExceeded
	StatusFatal            = cq.StatusFatal
	StatusGeneral          = cq.StatusGeneral
)

// Kinds of completed work [ibv_wc_opcode].
const (
	WCSend         = cq.OpSend
	WCWrite        = cq.OpRDMAWrite
	WCRead         = cq.OpRDMARead
	WCCompareSwap  = cq.OpCompareSwap
	WCFetchAdd     = cq.OpFetchAdd
	WCBindMW       = cq.OpBindMW
	WCLocalInv     = cq.OpLocalInv
	WCRecv         = cq.OpRecv
	WCRecvWriteImm = cq.OpRecvRDMAWithImm
)

// What a completion has besides: immediate data, or the key that the peer invalidated
// [ibv_wc_flags].
const (
	WCFlagImm = cq.WithImm
	WCFlagInv = cq.WithInv
)

// Memory.
type (
	// Access is a set of access rights [ibv_access_flags].
	Access = mr.Access
	// RKey is the key by which a peer names a region or window [rkey].
	RKey = mr.Key
)

// Access rights [ibv_access_flags].
const (
	AccessLocalWrite   = mr.LocalWrite
	AccessRemoteWrite  = mr.RemoteWrite
	AccessRemoteRead   = mr.RemoteRead
	AccessRemoteAtomic = mr.RemoteAtomic
	AccessMWBind       = mr.MWBind
	AccessZeroBased    = mr.ZeroBased
	// AccessPolled is for memory that the application polls while peers write it:
	// the last aligned 8 bytes of each message are stored after the rest, in one
	// piece, and [MR.LoadUint64] sees them so. It has no counterpart in C, where
	// the order in which an adapter writes is not promised.
	AccessPolled = mr.Polled
)

// Queue pair attributes.
type (
	// QPAttr holds the attributes of a queue pair [ibv_qp_attr]; its fields are those of [qp.Attr].
	QPAttr = qp.Attr
	// QPAttrMask names attributes [ibv_qp_attr_mask].
	QPAttrMask = qp.Mask
	// QPState is the state of a queue pair [ibv_qp_state].
	QPState = qp.State
	// QPStats counts what a queue pair did.
	QPStats = rc.Stats
	// GID is a global identifier: the address of a port [ibv_gid].
	GID = wire.GID
)

// States [ibv_qp_state].
const (
	StateReset = qp.StateReset
	StateInit  = qp.StateInit
	StateRTR   = qp.StateRTR
	StateRTS   = qp.StateRTS
	StateSQD   = qp.StateSQD
	StateErr   = qp.StateErr
)

// Attributes [ibv_qp_attr_mask].
const (
	AttrState           = qp.MaskState
	AttrPKey            = qp.MaskPKey
	AttrAccess          = qp.MaskAccess
	AttrPathMTU         = qp.MaskPathMTU
	AttrDestQPN         = qp.MaskDestQPN
	AttrAV              = qp.MaskAV
	AttrRQPSN           = qp.MaskRQPSN
	AttrMaxDestRdAtomic = qp.MaskMaxDestRdAtomic
	AttrMinRNRTimer     = qp.MaskMinRNRTimer
	AttrSQPSN           = qp.MaskSQPSN
	AttrTimeout         = qp.MaskTimeout
	AttrRetryCount      = qp.MaskRetryCount
	AttrRNRRetry        = qp.MaskRNRRetry
	AttrMaxRdAtomic     = qp.MaskMaxRdAtomic
	AttrNotifyDrained   = qp.MaskNotifyDrained
)

// Errors.
type (
	// WCError is a completion that reports a failure.
	WCError = cq.WCError
	// RemoteError is one that the peer caused by refusing the work.
	RemoteError = cq.RemoteError
	// StateError says that an operation is not possible in a queue pair's state.
	StateError = qp.StateError
	// AttrError says what is wrong with an attribute given to [QP.Modify].
	AttrError = qp.AttrError
	// WRError says which field of a work request is wrong.
	WRError = qp.WRError
	// RegisterError says why memory cannot be registered.
	RegisterError = mr.RegisterError
)

// ErrFlushed is matched by errors of work that was not carried out because its
// queue pair had failed before.
var ErrFlushed = cq.ErrFlushed

// ErrQueueFull is returned by posting to a queue whose depth is used up.
var ErrQueueFull = qp.ErrQueueFull
