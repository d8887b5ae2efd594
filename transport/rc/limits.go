package rc

import "time"

const (
	// ackEvery is how often a packet inside a long message asks for an
	// acknowledgement, so that the window slides. Some peers grant 128 packets.
	ackEvery = 32
	// ackAfter is how long packets inside a long message go at most without asking for one
	// where they are paced. At a low rate ackEvery of them take so long that they would be
	// sent again.
	ackAfter = granularity / 2

	// retryForever is the RNR retry count that never runs out (IBTA vol. 1, 9.7.5.2.8).
	retryForever = 7
)

// ackTimeout is the local ACK timeout of code t, 4.096 µs × 2^t; 0 means none
// (IBTA vol. 1, 9.7.6.1.3).
func ackTimeout(t uint8) time.Duration {
	if t == 0 {
		return 0
	}
	return 4096 * time.Nanosecond << t
}

// packets is the number of packets, and so of PSNs, that n bytes need: an empty
// message needs one too.
func packets(n uint32, mtu int) uint32 {
	if n == 0 {
		return 1
	}
	return uint32((uint64(n) + uint64(mtu) - 1) / uint64(mtu))
}
