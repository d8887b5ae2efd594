package qp

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
)

// MaxRdAtomic is the most READs and atomics a queue pair may have outstanding in
// either direction.
const MaxRdAtomic = 128

// Attr holds a queue pair's attributes [ibv_qp_attr]. Which of them a call to
// modify sets is said by its [Mask].
type Attr struct {
	State State
	PKey  uint16
	// Access gates the peer's requests before any key is looked at.
	Access  mr.Access
	PathMTU int // payload bytes per packet: 256, 512, 1024, 2048 or 4096

	// Address of the peer.
	DestQPN      uint32
	DestAddr     netip.Addr
	TrafficClass uint8 // its six upper bits are the DSCP of everything sent but CNPs; ECN is the stack's
	HopLimit     uint8 // 0: the default, 64
	SL           uint8 // service level 0–15: its low three bits are the priority in VLAN tags

	// Responder.
	RQPSN           bth.PSN // the peer's first request
	MaxDestRdAtomic int     // READs and atomics taken at once
	MinRNRTimer     uint8   // code sent in RNR NAKs, see bth.RNRDelay

	// Requester.
	SQPSN       bth.PSN // our first request
	Timeout     uint8   // local ACK timeout 4.096 µs × 2^Timeout, 0: infinite
	RetryCount  uint8   // 0–7 retransmissions without progress
	RNRRetry    uint8   // 0–6 resends after RNR NAKs, 7: for ever
	MaxRdAtomic int     // READs and atomics outstanding at once

	// NotifyDrained asks for an event when the send queue is drained in SQD.
	NotifyDrained bool
	// Draining says, when it is queried, that a queue pair in SQD has work under way.
	Draining bool
}

// Mask names attributes.
type Mask uint32

// Attributes. MaskAV covers DestAddr, TrafficClass, HopLimit and SL.
const (
	MaskState Mask = 1 << iota
	MaskPKey
	MaskAccess
	MaskPathMTU
	MaskDestQPN
	MaskAV
	MaskRQPSN
	MaskMaxDestRdAtomic
	MaskMinRNRTimer
	MaskSQPSN
	MaskTimeout
	MaskRetryCount
	MaskRNRRetry
	MaskMaxRdAtomic
	MaskNotifyDrained
)

var maskNames = []string{
	"State", "PKey", "Access", "PathMTU", "DestQPN", "DestAddr", "RQPSN", "MaxDestRdAtomic",
	"MinRNRTimer", "SQPSN", "Timeout", "RetryCount", "RNRRetry", "MaxRdAtomic", "NotifyDrained",
}

// String lists the attributes.
func (m Mask) String() string {
	s := ""
	for i, n := range maskNames {
		if m&(1<<i) != 0 {
			if s != "" {
				s += ", "
			}
			s += n
		}
	}
	return s
}

// AttrError says what is wrong with the attributes given to modify.
type AttrError struct {
	Attr string // the attribute, or several
	Why  string
}

// Error implements error.
func (e *AttrError) Error() string { return fmt.Sprintf("qp: attribute %s: %s", e.Attr, e.Why) }

// transition is one row of the table of IBTA vol. 1, 11.2.5.2 (RC).
type transition struct {
	from, to           State
	required, optional Mask
}

var transitions = []transition{
	{StateReset, StateInit, MaskPKey | MaskAccess, 0},
	{StateInit, StateInit, 0, MaskPKey | MaskAccess},
	{
		StateInit, StateRTR,
		MaskAV | MaskPathMTU | MaskDestQPN | MaskRQPSN | MaskMaxDestRdAtomic | MaskMinRNRTimer,
		MaskPKey | MaskAccess,
	},
	{
		StateRTR, StateRTS,
		MaskTimeout | MaskRetryCount | MaskRNRRetry | MaskSQPSN | MaskMaxRdAtomic,
		MaskAccess | MaskMinRNRTimer,
	},
	{StateRTS, StateRTS, 0, MaskAccess | MaskMinRNRTimer},
	{StateRTS, StateSQD, 0, MaskNotifyDrained},
	{
		StateSQD, StateSQD, 0,
		MaskPKey | MaskAccess | MaskAV | MaskMaxDestRdAtomic | MaskMinRNRTimer |
			MaskTimeout | MaskRetryCount | MaskRNRRetry | MaskMaxRdAtomic,
	},
	{StateSQD, StateRTS, 0, MaskAccess | MaskMinRNRTimer},
}

// CheckModify reports whether a queue pair in state from may be modified as asked:
// the transition exists, its required attributes are there, no others are, and
// every value is in range. Any state may go to RESET and ERR.
func CheckModify(from State, a *Attr, m Mask) error {
	to := from
	if m&MaskState != 0 {
		to = a.State
	}
	given := m &^ MaskState
	if to == StateReset || to == StateErr {
		if given != 0 {
			return &AttrError{given.String(), fmt.Sprintf("not allowed on the way to %s", to)}
		}
		return nil
	}
	for _, t := range transitions {
		if t.from != from || t.to != to {
			continue
		}
		if missing := t.required &^ given; missing != 0 {
			return &AttrError{missing.String(), fmt.Sprintf("required from %s to %s", from, to)}
		}
		if extra := given &^ (t.required | t.optional); extra != 0 {
			return &AttrError{extra.String(), fmt.Sprintf("not allowed from %s to %s", from, to)}
		}
		return checkRanges(a, given)
	}
	return &StateError{fmt.Sprintf("modify to %s", to), from}
}

// QPNs that no connection has (IBTA vol. 1, 3.9.2 and 10.2.6).
const (
	managementQPN = 1
	multicastQPN  = 0xffffff
)

func checkRanges(a *Attr, m Mask) error {
	rdAtomic := fmt.Sprintf("must be 0–%d", MaxRdAtomic)
	for _, c := range []struct {
		mask Mask
		ok   bool
		why  string
	}{
		{MaskPathMTU, validMTU(a.PathMTU), "must be 256, 512, 1024, 2048 or 4096"},
		{MaskDestQPN, a.DestQPN > managementQPN && a.DestQPN < multicastQPN, "must be that of a connection, 0x2–0xfffffe"},
		{MaskAV, a.DestAddr.IsValid() && !a.DestAddr.IsUnspecified() && !a.DestAddr.IsMulticast(), "must be the peer's address; is what describes the peer filled in?"},
		{MaskAV, a.SL < 16, "its service level, SL, must be 0–15"},
		{MaskRQPSN, a.RQPSN <= bth.PSNMask, "must fit 24 bits"},
		{MaskSQPSN, a.SQPSN <= bth.PSNMask, "must fit 24 bits"},
		{MaskMaxDestRdAtomic, a.MaxDestRdAtomic >= 0 && a.MaxDestRdAtomic <= MaxRdAtomic, rdAtomic},
		{MaskMaxRdAtomic, a.MaxRdAtomic >= 0 && a.MaxRdAtomic <= MaxRdAtomic, rdAtomic},
		{MaskMinRNRTimer, a.MinRNRTimer < 32, "must be 0–31"},
		{MaskTimeout, a.Timeout < 32, "must be 0–31"},
		{MaskRetryCount, a.RetryCount <= 7, "must be 0–7"},
		{MaskRNRRetry, a.RNRRetry <= 7, "must be 0–7, where 7 is for ever"},
	} {
		if m&c.mask != 0 && !c.ok {
			return &AttrError{c.mask.String(), c.why}
		}
	}
	return nil
}

func validMTU(n int) bool {
	switch n {
	case 256, 512, 1024, 2048, 4096:
		return true
	}
	return false
}
