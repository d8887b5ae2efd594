package mr

import "strings"

// Access is a set of access rights, with the bit values of ibv_access_flags.
// Local reading is always allowed.
type Access uint32

// Access rights.
const (
	LocalWrite   Access = 1 << 0 // the device may write here for local work: receives, READ and atomic results
	RemoteWrite  Access = 1 << 1 // peers may RDMA WRITE
	RemoteRead   Access = 1 << 2 // peers may RDMA READ
	RemoteAtomic Access = 1 << 3 // peers may CmpSwap and FetchAdd
	ZeroBased    Access = 1 << 5 // addresses are offsets from the region's start
	// Polled is ours: the application polls words of this region while peers write
	// it. The last aligned 8 bytes of each message are stored atomically, after the
	// rest. See [LoadUint64].
	Polled Access = 1 << 24

	remoteRights = RemoteWrite | RemoteRead | RemoteAtomic
	knownRights  = LocalWrite | remoteRights | ZeroBased | Polled
)

// String lists the rights.
func (a Access) String() string {
	if a == 0 {
		return "local read"
	}
	var words []string
	for _, r := range []struct {
		bit  Access
		name string
	}{
		{LocalWrite, "local write"}, {RemoteWrite, "remote write"}, {RemoteRead, "remote read"},
		{RemoteAtomic, "remote atomic"}, {ZeroBased, "zero based"}, {Polled, "polled"},
	} {
		if a&r.bit != 0 {
			words = append(words, r.name)
		}
	}
	return strings.Join(words, ", ")
}

// PD identifies a protection domain within a device. Regions and queue pairs
// belong to one; 0 is never a valid domain.
type PD uint32

// Key is an L_Key or R_Key: a 24-bit table index and an 8-bit key byte. 0 is
// never valid.
type Key uint32

// Fault is why an access was refused.
type Fault uint8

// Faults, in the order in which they are checked.
const (
	NoFault     Fault = iota
	FaultKey          // no region has this key
	FaultPD           // the region belongs to another protection domain
	FaultAccess       // the region does not grant the right
	FaultRange        // the range leaves the region
)

var faultWords = [...]string{
	"no fault", "no region has this key", "region belongs to another protection domain",
	"region does not grant the access", "range leaves the region",
}

// String says the fault in words.
func (f Fault) String() string { return faultWords[f] }

// Span is a resolved piece of a region, valid until the end of the engine turn.
type Span struct {
	Bytes  []byte
	Polled bool // the region was registered with [Polled]
}

// Resolver gives access to registered memory. [Table] is the one implementation;
// the transport machines take the interface so that they own no table.
//
// A range of length 0 resolves without any check of key or address (IBTA vol. 1,
// C9-88: zero-length RDMA is not validated).
type Resolver interface {
	Resolve(pd PD, key Key, va uint64, n uint32, need Access) (Span, Fault)
}
