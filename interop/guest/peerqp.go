//go:build linux

package guest

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// PeerQPConfig tells how Peer.NewQP makes a QP.
type PeerQPConfig struct {
	PSN    uint32   // of the first packet that the QP sends, 24 bits
	Access Access   // to grant the remote side; 0: all remote rights
	Depth  int      // of each of the two queues, in work requests; 0: 64
	Inline int      // bytes of inline data to ask for
	SRQ    *PeerSRQ // where receives are taken from; nil: from a queue of its own
}

// PeerQP is an RC queue pair in the guest with a completion queue of its own.
type PeerQP struct {
	peer *Peer
	id   uint32

	QPN uint32
	PSN uint32
}

// NewQP makes a QP and moves it to INIT.
func (p *Peer) NewQP(ctx context.Context, cfg PeerQPConfig) (*PeerQP, error) {
	if cfg.Access == 0 {
		cfg.Access = RemoteWrite | RemoteRead | RemoteAtomic
	}
	if cfg.Depth == 0 {
		cfg.Depth = 64
	}
	q := &PeerQP{peer: p, id: p.nextID()}
	if err := p.order(ctx, q, "qp", "id", q.id, "psn", cfg.PSN, "access", cfg.Access, "depth", cfg.Depth, "inline", cfg.Inline, "srq", cfg.SRQ.arg()); err != nil {
		return nil, err
	}
	return q, nil
}

// PeerConnect is what a QP needs to know of its remote end. A field of type
// *int that is nil gets the default.
type PeerConnect struct {
	QPN, PSN uint32
	GID      netip.Addr
	MTU      int // path MTU in bytes; 0: 1024

	Timeout      *int // local ACK timeout, 4.096 µs · 2^n, 0 never; default 14 (67 ms)
	Retry        *int // retries after a timeout; default 3. rxe takes 7 as never to give up
	RNRRetry     *int // retries after an RNR NAK, 7 for ever; default 3
	MinRNRTimer  *int // code of the wait that the QP's own RNR NAKs ask for; default 12 (0.64 ms)
	Reads        *int // READs and atomics that the QP has under way at most; default 4
	RemoteReads  *int // those that it accepts; default 4
	TrafficClass int  // DSCP and ECN of the packets that it sends
	HopLimit     int  // 0: 64
}

// Connect moves the QP from INIT to RTS.
func (q *PeerQP) Connect(ctx context.Context, c PeerConnect) error {
	return q.connect(ctx, c, "both")
}

// ReadyToReceive moves the QP from INIT to RTR only.
func (q *PeerQP) ReadyToReceive(ctx context.Context, c PeerConnect) error {
	return q.connect(ctx, c, "rtr")
}

// ReadyToSend moves the QP from RTR to RTS; of the configuration only Timeout,
// Retry, RNRRetry and Reads count.
func (q *PeerQP) ReadyToSend(ctx context.Context, c PeerConnect) error {
	return q.connect(ctx, c, "rts")
}

func (q *PeerQP) connect(ctx context.Context, c PeerConnect, to string) error {
	var gid string
	if c.GID.IsValid() {
		b := c.GID.As16() // the mapped form of an IPv4 address
		gid = hex.EncodeToString(b[:])
	}
	return q.peer.order(ctx, nil, "connect", "qp", q.id, "to", to,
		"rqpn", c.QPN, "rpsn", c.PSN, "rgid", gid, "mtu", nonZero(c.MTU),
		"timeout", orEmpty(c.Timeout), "retry", orEmpty(c.Retry), "rnr", orEmpty(c.RNRRetry), "minrnr", orEmpty(c.MinRNRTimer),
		"rd", orEmpty(c.Reads), "drd", orEmpty(c.RemoteReads), "tclass", c.TrafficClass, "hop", nonZero(c.HopLimit))
}

// orEmpty is an argument of an order, left out if nil.
func orEmpty(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// nonZero is an argument of an order, left out if 0.
func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// PeerMem is the local memory of a work request: bytes of a region, or several
// pieces. The zero value is a message without bytes.
type PeerMem struct {
	Region *PeerRegion
	Off, N int
	Pieces []PeerPiece // if any, instead of Off and N
}

// PeerPiece is a piece of a region.
type PeerPiece struct{ Off, N int }

// args are the arguments of an order that name the memory.
func (m PeerMem) args() []any {
	if m.Region == nil {
		return nil
	}
	if len(m.Pieces) == 0 {
		return []any{"mr", m.Region.id, "off", m.Off, "len", m.N}
	}
	var s []string
	for _, p := range m.Pieces {
		s = append(s, fmt.Sprintf("%d:%d", p.Off, p.N))
	}
	return []any{"mr", m.Region.id, "sge", strings.Join(s, ",")}
}

// PeerOp is what a work request does.
type PeerOp string

// The operations.
const (
	PeerSend            PeerOp = "send"
	PeerSendImm         PeerOp = "send_imm"
	PeerSendInv         PeerOp = "send_inv"
	PeerWrite           PeerOp = "write"
	PeerWriteImm        PeerOp = "write_imm"
	PeerRead            PeerOp = "read"
	PeerFetchAdd        PeerOp = "fetch_add"
	PeerCompareSwap     PeerOp = "cmp_swap"
	PeerLocalInvalidate PeerOp = "local_inv"
)

// PeerWR is a work request for a send queue.
type PeerWR struct {
	ID  uint64
	Op  PeerOp
	Mem PeerMem // atomics: eight bytes, which receive the old value

	RemoteAddr uint64
	RKey       uint32
	Imm        uint32 // PeerSendImm, PeerWriteImm
	Invalidate uint32 // R_Key: PeerSendInv, PeerLocalInvalidate
	Add        uint64 // PeerFetchAdd
	Compare    uint64 // PeerCompareSwap
	Swap       uint64 // PeerCompareSwap

	Unsignaled, Solicited, Fence, Inline bool
}

// Post posts a work request to the send queue.
func (q *PeerQP) Post(ctx context.Context, w PeerWR) error {
	var flags []string
	for name, set := range map[string]bool{"signaled": !w.Unsignaled, "solicited": w.Solicited, "fence": w.Fence, "inline": w.Inline} {
		if set {
			flags = append(flags, name)
		}
	}
	args := []any{
		"qp", q.id, "op", w.Op, "wr", w.ID, "flags", strings.Join(flags, ","),
		"raddr", w.RemoteAddr, "rkey", w.RKey, "imm", w.Imm, "inv", w.Invalidate,
		"add", w.Add, "compare", w.Compare, "swap", w.Swap,
	}
	return q.peer.order(ctx, nil, "post", append(args, w.Mem.args()...)...)
}

// PostRecv posts a work request to the receive queue.
func (q *PeerQP) PostRecv(ctx context.Context, id uint64, mem PeerMem) error {
	return q.peer.order(ctx, nil, "recv", append([]any{"qp", q.id, "wr", id}, mem.args()...)...)
}

// PeerStatus is the status of a completion, with the values of enum
// ibv_wc_status.
type PeerStatus int

// The statuses that RC operations end with.
const (
	PeerSuccess         PeerStatus = 0
	PeerLocalLength     PeerStatus = 1
	PeerLocalQPOp       PeerStatus = 2
	PeerLocalProtection PeerStatus = 4
	PeerFlushed         PeerStatus = 5
	PeerLocalAccess     PeerStatus = 8
	PeerRemoteInvalid   PeerStatus = 9
	PeerRemoteAccess    PeerStatus = 10
	PeerRemoteOp        PeerStatus = 11
	PeerRetryExceeded   PeerStatus = 12
	PeerRNRExceeded     PeerStatus = 13
)

// PeerWC is a completion. Of a failed one only ID, Status, StatusText and
// VendorErr mean something.
type PeerWC struct {
	ID         uint64     `json:"wr_id"`
	Status     PeerStatus `json:"status"`
	StatusText string     `json:"status_text"`
	VendorErr  uint32     `json:"vendor_err"`
	Opcode     int        `json:"opcode"`   // enum ibv_wc_opcode
	ByteLen    uint32     `json:"byte_len"` // receives and READs
	HasImm     bool       `json:"has_imm"`
	Imm        uint32     `json:"imm"`
	HasInv     bool       `json:"has_inv"`
	Inv        uint32     `json:"inv"`   // the invalidated R_Key
	Flags      uint       `json:"flags"` // as the kernel set them: see PeerRxeWithInv
}

// PeerRxeWithInv is the flag of completions that rdma_rxe sets in place of
// IBV_WC_WITH_INV, which is the next bit. HasInv is right for either.
const PeerRxeWithInv = 1 << 2

// Opcodes of completions, enum ibv_wc_opcode.
const (
	PeerWCSend        = 0
	PeerWCWrite       = 1
	PeerWCRead        = 2
	PeerWCCompareSwap = 3
	PeerWCFetchAdd    = 4
	PeerWCBind        = 5
	PeerWCLocalInv    = 6
	PeerWCRecv        = 128
	PeerWCRecvImm     = 129 // of a WRITE with immediate data
)

// Poll waits for n completions, at most for the given time, and returns those
// that came, which may be fewer.
func (q *PeerQP) Poll(ctx context.Context, n int, timeout time.Duration) ([]PeerWC, error) {
	var v struct{ WC []PeerWC }
	err := q.peer.order(ctx, &v, "poll", "qp", q.id, "n", n, "timeout", timeout.Milliseconds())
	return v.WC, err
}

// PeerState is a QP's state, with the values of enum ibv_qp_state.
type PeerState int

// The states.
const (
	PeerReset PeerState = 0
	PeerInit  PeerState = 1
	PeerRTR   PeerState = 2
	PeerRTS   PeerState = 3
	PeerSQD   PeerState = 4
	PeerErr   PeerState = 6
)

// State asks for the QP's state.
func (q *PeerQP) State(ctx context.Context) (PeerState, error) {
	var v struct{ State PeerState }
	err := q.peer.order(ctx, &v, "state", "qp", q.id)
	return v.State, err
}

// Drain moves the QP to SQD. PeerSQDrained tells when its send queue is drained.
func (q *PeerQP) Drain(ctx context.Context) error {
	return q.peer.order(ctx, nil, "drain", "qp", q.id)
}

// Resume moves the QP from SQD back to RTS.
func (q *PeerQP) Resume(ctx context.Context) error {
	return q.peer.order(ctx, nil, "resume", "qp", q.id)
}

// Error moves the QP to the error state.
func (q *PeerQP) Error(ctx context.Context) error {
	return q.peer.order(ctx, nil, "error", "qp", q.id)
}

// Reset moves the QP to RESET; it then answers no packet.
func (q *PeerQP) Reset(ctx context.Context) error {
	return q.peer.order(ctx, nil, "reset", "qp", q.id)
}

// Destroy destroys the QP and its completion queue.
func (q *PeerQP) Destroy(ctx context.Context) error {
	return q.peer.order(ctx, nil, "destroy", "qp", q.id)
}
