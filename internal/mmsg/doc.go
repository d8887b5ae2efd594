// Package mmsg is sendmmsg and recvmmsg as links on sockets use them: raw, bounded,
// and asking for as many messages as are likely to be there.
package mmsg

// Limits of one call: what it copies, and how long it may keep the processor from
// the Go scheduler.
const (
	MaxBytes    = 64 << 10
	MaxMessages = 32
)
