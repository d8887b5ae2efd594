package roce

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
)

// Info is what a peer has to know of a queue pair to connect to it: exchange it
// over any channel, as JSON or as text.
type Info struct {
	GID      netip.Addr `json:"gid"`
	QPN      uint32     `json:"qpn"`
	PSN      uint32     `json:"psn"`       // of the first request
	MTU      int        `json:"mtu"`       // largest path MTU, bytes of payload
	RdAtomic int        `json:"rd_atomic"` // READs and atomics that may be outstanding towards it
}

// String gives the text form that [ParseInfo] reads.
func (i Info) String() string {
	return fmt.Sprintf("gid=%s qpn=0x%06x psn=0x%06x mtu=%d rd_atomic=%d", i.GID, i.QPN, i.PSN, i.MTU, i.RdAtomic)
}

// ParseInfo reads the text form of an Info.
func ParseInfo(s string) (Info, error) {
	var i Info
	var gid string
	if _, err := fmt.Sscanf(s, "gid=%s qpn=0x%x psn=0x%x mtu=%d rd_atomic=%d", &gid, &i.QPN, &i.PSN, &i.MTU, &i.RdAtomic); err != nil {
		return Info{}, notInfo(s, err)
	}
	addr, err := netip.ParseAddr(gid)
	if err != nil {
		return Info{}, notInfo(s, err)
	}
	i.GID = addr
	if i.String() != s {
		return Info{}, notInfo(s, errors.New("there is more, or it is written otherwise"))
	}
	return i, nil
}

func notInfo(s string, why error) error {
	like := Info{GID: netip.AddrFrom4([4]byte{10, 0, 0, 1}), QPN: 0x12, PSN: 0x345678, MTU: 1024, RdAtomic: 16}
	return fmt.Errorf("roce: %q does not describe a queue pair: %w; it looks like %q", s, why, like)
}

// Info describes the queue pair for its peer. Once it was connected and reset it has
// another PSN, so that late packets of the old connection find nothing in the next:
// exchange Info again.
func (q *QP) Info() Info {
	return Info{
		GID: q.addr, QPN: q.QPN(), PSN: uint32(q.qp.InitialPSN()),
		MTU: q.pd.dev.pathMTU(), RdAtomic: DefaultRdAtomic,
	}
}

// Defaults of [QP.Connect].
const (
	DefaultTimeout     = 14 // 67 ms
	DefaultRetryCount  = 7
	DefaultRNRRetry    = 7 // for ever
	DefaultMinRNRTimer = 12
	DefaultRdAtomic    = 16
)

// ConnectOption is an option of [QP.Connect].
type ConnectOption func(*QPAttr)

// WithRetry sets the local ACK timeout, 4.096 µs × 2^timeout or infinite if 0, how
// often without progress a packet is sent again, 0–7, and how often a peer that
// has no receive posted is asked again, 0–6, or 7: for ever.
func WithRetry(timeout, count, rnrCount uint8) ConnectOption {
	return func(a *QPAttr) { a.Timeout, a.RetryCount, a.RNRRetry = timeout, count, rnrCount }
}

// WithMinRNRTimer sets for how long the peer is asked to wait when no receive is
// posted here: a code, see bth.RNRDelay.
func WithMinRNRTimer(code uint8) ConnectOption {
	return func(a *QPAttr) { a.MinRNRTimer = code }
}

// WithPathMTU sets the path MTU, the bytes of payload per packet: 256, 512, 1024,
// 2048 or 4096. The default is the largest that both ends can take. Both ends must
// use the same.
func WithPathMTU(n int) ConnectOption { return func(a *QPAttr) { a.PathMTU = n } }

// WithReadLimits sets how many READs and atomics may be outstanding towards the
// peer, and how many are taken from it; at most 128. The default is 16 of each,
// and not more than the peer takes. No end may take fewer than the other sends: the
// first that is too many ends the connection.
func WithReadLimits(initiator, responder int) ConnectOption {
	return func(a *QPAttr) { a.MaxRdAtomic, a.MaxDestRdAtomic = initiator, responder }
}

// WithTrafficClass sets the traffic class and hop limit (0: 64) of everything sent. Of the
// class the six upper bits count, the DSCP; the two lower ones, ECN, are the stack's. CNPs
// have a DSCP of their own: see [DCQCN].
func WithTrafficClass(class, hopLimit uint8) ConnectOption {
	return func(a *QPAttr) { a.TrafficClass, a.HopLimit = class, hopLimit }
}

// WithServiceLevel sets the service level, 0–15. Its low three bits are the priority in
// the VLAN tags of everything sent. Without a VLAN a priority other than 0 makes tags
// with VLAN ID 0; links that write no tags, such as kernel UDP, ignore it.
func WithServiceLevel(sl uint8) ConnectOption { return func(a *QPAttr) { a.SL = sl } }

// Connect brings the queue pair from RESET or INIT through RTR to RTS, connected
// to the queue pair that remote describes. The peer has to do the same. The error
// says which step failed; then the queue pair is in RESET again.
func (q *QP) Connect(remote Info, opts ...ConnectOption) error {
	if s := q.State(); s != StateReset && s != StateInit {
		return fmt.Errorf("roce: %s: %w", q, &StateError{Op: "connecting", State: s})
	}
	a := q.connectAttr(remote)
	for _, o := range opts {
		o(&a)
	}
	if err := q.checkMTU(a.PathMTU, remote); err != nil {
		return err
	}
	for _, step := range connectSteps {
		if step.to == StateInit && q.State() == StateInit {
			continue
		}
		a.State = step.to
		if err := q.Modify(a, step.mask|AttrState); err != nil {
			_ = q.Modify(QPAttr{State: StateReset}, AttrState) // possible from every state
			return fmt.Errorf("roce: connect %s to QP 0x%06x at %v: to %s: %w", q, remote.QPN, remote.GID, step.to, err)
		}
	}
	return nil
}

// connectAttr is what Connect sets without options.
func (q *QP) connectAttr(remote Info) QPAttr {
	reads := DefaultRdAtomic
	if remote.RdAtomic > 0 {
		reads = min(reads, remote.RdAtomic)
	}
	mtu := q.pd.dev.pathMTU()
	if remote.MTU > 0 {
		mtu = min(mtu, remote.MTU)
	}
	return QPAttr{
		PKey: bth.DefaultPKey, Access: q.cfg.Access, PathMTU: mtu,
		DestQPN: remote.QPN, DestAddr: remote.GID,
		RQPSN: bth.PSN(remote.PSN), MaxDestRdAtomic: DefaultRdAtomic, MinRNRTimer: DefaultMinRNRTimer,
		SQPSN: q.qp.InitialPSN(), MaxRdAtomic: reads,
		Timeout: DefaultTimeout, RetryCount: DefaultRetryCount, RNRRetry: DefaultRNRRetry,
	}
}

// checkMTU refuses a path MTU that one of the two ends cannot take.
func (q *QP) checkMTU(mtu int, remote Info) error {
	if mtu > link.MaxPayload {
		return nil // no path MTU at all: Modify says so
	}
	if mine := q.pd.dev.pathMTU(); mtu > mine {
		return fmt.Errorf("roce: connect %s: path MTU %d does not fit %s: a link MTU of %d bytes is needed, it has %d",
			q, mtu, q.pd.dev.Name(), linkMTUFor(mtu), q.pd.dev.link.MTU())
	}
	if remote.MTU > 0 && mtu > remote.MTU {
		return fmt.Errorf("roce: connect %s: path MTU %d is more than the peer's %d", q, mtu, remote.MTU)
	}
	return nil
}

// linkMTUFor is the least link MTU that a path MTU fits.
func linkMTUFor(mtu int) int {
	n := mtu
	for link.PathMTU(n) < min(mtu, link.MaxPayload) {
		n++
	}
	return n
}

var connectSteps = []struct {
	to   QPState
	mask QPAttrMask
}{
	{StateInit, AttrPKey | AttrAccess},
	{StateRTR, AttrPathMTU | AttrDestQPN | AttrAV | AttrRQPSN | AttrMaxDestRdAtomic | AttrMinRNRTimer},
	{StateRTS, AttrSQPSN | AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrMaxRdAtomic},
}
