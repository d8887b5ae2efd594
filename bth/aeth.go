package bth

import (
	"fmt"
	"time"
)

// Syndrome is the first byte of an AETH: what kind of acknowledgement it is
// (bits 6:5) and its value (bits 4:0), IBTA vol. 1, 9.7.5.2.
type Syndrome uint8

// Syndromes with a name. ACKs carry a credit count and RNR NAKs a timer code in
// their low five bits.
const (
	ACKUnlimited       Syndrome = 0x1f // ACK, "no credit information"
	NAKSequence        Syndrome = 0x60 // PSN sequence error
	NAKInvalidRequest  Syndrome = 0x61
	NAKRemoteAccess    Syndrome = 0x62
	NAKRemoteOperation Syndrome = 0x63
	NAKInvalidRD       Syndrome = 0x64
)

// RNRNAK returns the receiver-not-ready syndrome for a timer code (0–31).
func RNRNAK(code uint8) Syndrome { return Syndrome(0x20 | code&0x1f) }

// IsACK reports a positive acknowledgement (0x00–0x1F).
func (s Syndrome) IsACK() bool { return s>>5 == 0 }

// IsRNR reports a receiver-not-ready NAK (0x20–0x3F).
func (s Syndrome) IsRNR() bool { return s>>5 == 1 }

// IsNAK reports a NAK other than RNR (0x60–0x7F).
func (s Syndrome) IsNAK() bool { return s>>5 == 3 }

// Value is the low five bits: credit code, RNR timer code or NAK code.
func (s Syndrome) Value() uint8 { return uint8(s & 0x1f) }

// String says what the syndrome means.
func (s Syndrome) String() string {
	switch {
	case s == ACKUnlimited:
		return "ACK"
	case s.IsACK():
		n, _ := s.Credits()
		return fmt.Sprintf("ACK (%d credits)", n)
	case s.IsRNR():
		return fmt.Sprintf("RNR NAK (wait %v)", RNRDelay(s.Value()))
	}
	switch s {
	case NAKSequence:
		return "NAK PSN sequence error"
	case NAKInvalidRequest:
		return "NAK invalid request"
	case NAKRemoteAccess:
		return "NAK remote access error"
	case NAKRemoteOperation:
		return "NAK remote operational error"
	case NAKInvalidRD:
		return "NAK invalid RD request"
	default:
		return fmt.Sprintf("reserved syndrome 0x%02x", uint8(s))
	}
}

// Credits decodes the credit count of an ACK (IBTA vol. 1, table 45). ok is false
// when the ACK carries no credit information or is not an ACK.
func (s Syndrome) Credits() (n int, ok bool) {
	if !s.IsACK() || s == ACKUnlimited {
		return 0, false
	}
	return int(creditCount[s.Value()]), true
}

// ACKCredits returns the ACK syndrome that announces n credits, or the next smaller
// number that has a code.
func ACKCredits(n int) Syndrome {
	code := len(creditCount) - 1
	for int(creditCount[code]) > n {
		code--
	}
	return Syndrome(code)
}

// creditCount is the number of credits of each code.
var creditCount = [31]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// RNRDelay is the least time a requester waits after an RNR NAK with this timer
// code (IBTA vol. 1, table 46). Code 0 is the longest; only the low five bits count.
func RNRDelay(code uint8) time.Duration {
	return time.Duration(rnrDelay[code&0x1f]) * 10 * time.Microsecond
}

// rnrDelay holds the delays in units of 10 µs.
var rnrDelay = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}
