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
	MWBind       Access = 1 << 4 // memory windows may be bound to the region
	ZeroBased    Access = 1 << 5 // addresses are offsets from the region's start
	// Polled is ours: the application polls words of this region while peers write
	// it. The last aligned 8 bytes of each message are stored atomically, after the
	// rest. See [LoadUint64].
	Polled Access = 1 << 24

	remoteRights = RemoteWrite | RemoteRead | RemoteAtomic
	knownRights  = LocalWrite | remoteRights | MWBind | ZeroBased | Polled
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
		{RemoteAtomic, "remote atomic"}, {MWBind, "window bind"}, {ZeroBased, "zero based"}, {Polled, "polled"},
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

// Faults of an access, in the order in which they are checked, and of a bind.
const (
	NoFault         Fault = iota
	FaultKey              // nothing has this key
	FaultPD               // of another protection domain
	FaultQP               // the window is bound to another queue pair
	FaultAccess           // the region or window does not grant the right; the region permits no such window
	FaultRange            // the range leaves the region or window; the range to bind is empty
	FaultGone             // bind: window or region are closed, or the request was carried out before
	FaultBound            // bind: the window is bound already
	FaultMisaligned       // bind: atomics could not be aligned
)

var faultWords = [...]string{
	"no fault", "nothing has this key", "of another protection domain", "window is bound to another queue pair",
	"right is not granted", "range leaves the region or window", "window or region is closed, or the request was used before",
	"window is bound already", "atomics could not be aligned",
}

// String says the fault in words.
func (f Fault) String() string { return faultWords[f] }

// Span is a resolved piece of a region, valid until the end of the engine turn.
type Span struct {
	Bytes  []byte
	Polled bool // the region was registered with [Polled]
}

// Resolver gives access to registered memory. A range of length 0 resolves without
// any check of key or address (IBTA vol. 1, C9-88: zero-length RDMA is not validated).
type Resolver interface {
	// Resolve is for local work: key is the L_Key of a region.
	Resolve(pd PD, key Key, va uint64, n uint32, need Access) (Span, Fault)
	// ResolveRemote is for what the peer of queue pair qpn asks: key is the R_Key of
	// a region or window.
	ResolveRemote(pd PD, qpn uint32, key Key, va uint64, n uint32, need Access) (Span, Fault)
}

// Memory is what a transport machine needs of registered memory. [Table] is the one
// implementation; the machines take the interface so that they own no table.
type Memory interface {
	Resolver
	Bind(pd PD, qpn uint32, b *Binding) Fault
	Invalidate(pd PD, qpn uint32, key Key) bool
}
