package bth

import "fmt"

// PSN is a 24-bit packet sequence number (IBTA vol. 1, 9.7.2). Values are kept
// reduced modulo 2^24; the methods do circular arithmetic.
type PSN uint32

// PSNMask selects the 24 bits of a PSN.
const PSNMask = 1<<24 - 1

// PSNWindow is the largest number of PSNs that may be outstanding: half the
// number space, so that "past" and "future" stay distinguishable.
const PSNWindow = 1 << 23

// Add returns p advanced by n packets.
func (p PSN) Add(n uint32) PSN { return (p + PSN(n)) & PSNMask }

// Sub returns p moved back by n packets.
func (p PSN) Sub(n uint32) PSN { return (p - PSN(n)) & PSNMask }

// Diff returns the signed circular distance p - q, in [-2^23, 2^23).
func (p PSN) Diff(q PSN) int32 { return int32((p-q)<<8) >> 8 }

// Before reports whether p lies in the half circle before q.
func (p PSN) Before(q PSN) bool { return p.Diff(q) < 0 }

// After reports whether p lies in the half circle after q.
func (p PSN) After(q PSN) bool { return p.Diff(q) > 0 }

// String prints the PSN in decimal, as traces and tshark do.
func (p PSN) String() string { return fmt.Sprintf("%d", uint32(p)) }
