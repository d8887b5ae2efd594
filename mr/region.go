package mr

import (
	"errors"
	"fmt"
	"unsafe"
)

// Region is a registered piece of memory. Its methods are safe for concurrent use.
type Region struct {
	view
	slot    uint32
	windows int // bound to it, under the table's lock
}

// LKey is the key for local use, in an SGE.
func (r *Region) LKey() Key { return r.key }

// RKey is the key for peers: equal to LKey, or 0 if the region grants peers nothing.
func (r *Region) RKey() Key {
	if r.access&remoteRights == 0 {
		return 0
	}
	return r.key
}

// PD is the protection domain that the region belongs to.
func (r *Region) PD() PD { return r.pd }

// Access is the region's rights.
func (r *Region) Access() Access { return r.access }

// Base is the address of the region's first byte in its address space (its IOVA).
func (r *Region) Base() uint64 { return r.base }

// Bytes is the registered memory itself.
func (r *Region) Bytes() []byte { return r.buf }

// ErrTableFull is returned when there are [MaxRegions] regions and windows.
var ErrTableFull = errors.New("mr: the table holds as many regions and windows as it can; close some")

// RegisterReason is why a registration was refused.
type RegisterReason uint8

// Reasons.
const (
	ReasonEmpty        RegisterReason = iota + 1 // the buffer has no bytes
	ReasonUnknownRight                           // a right that does not exist
	ReasonLocalWrite                             // remote writing needs LocalWrite too
	ReasonZeroBased                              // a zero-based region begins at address 0
	ReasonOverflow                               // the address range passes 2^64
	ReasonMisaligned                             // atomics: buffer and address differ modulo 8
)

// RegisterError says why memory cannot be registered.
type RegisterError struct {
	Reason RegisterReason
	IOVA   uint64
	Len    int
	Access Access
}

// Error says what was tried, what is wrong and what to do.
func (e *RegisterError) Error() string {
	return fmt.Sprintf("mr: register %d bytes at address %#x for %s: %s", e.Len, e.IOVA, e.Access, e.remedy())
}

func (e *RegisterError) remedy() string {
	switch e.Reason {
	case ReasonEmpty:
		return "the buffer is empty; a region holds at least one byte"
	case ReasonUnknownRight:
		return fmt.Sprintf("unknown access rights %#x; leave them out", uint32(e.Access&^knownRights))
	case ReasonLocalWrite:
		return "remote write and remote atomic need local write; add it"
	case ReasonZeroBased:
		return "a zero-based region begins at address 0; pass address 0"
	case ReasonOverflow:
		return "the range passes the end of the 64-bit address space; choose a lower address"
	case ReasonMisaligned:
		return "remote atomic needs a buffer and an address that are equal modulo 8, else no atomic could be aligned in both; align the buffer"
	}
	return fmt.Sprintf("reason %d", e.Reason)
}

// check applies the rules of registration (IBTA vol. 1, 10.6.3).
func check(buf []byte, iova uint64, access Access) error {
	var reason RegisterReason
	switch {
	case len(buf) == 0:
		reason = ReasonEmpty
	case access&^knownRights != 0:
		reason = ReasonUnknownRight
	case access&(RemoteWrite|RemoteAtomic) != 0 && access&LocalWrite == 0:
		reason = ReasonLocalWrite
	case access&ZeroBased != 0 && iova != 0:
		reason = ReasonZeroBased
	case iova+uint64(len(buf)-1) < iova:
		reason = ReasonOverflow
	case access&RemoteAtomic != 0 && (Address(buf)-iova)%AtomicSize != 0:
		reason = ReasonMisaligned
	default:
		return nil
	}
	return &RegisterError{Reason: reason, IOVA: iova, Len: len(buf), Access: access}
}

// Address is the address of b's first byte in this process: the usual IOVA of a
// region. b must not be empty.
func Address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
