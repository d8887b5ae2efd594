// Package mr holds memory regions and windows: protection domains, the key table,
// access checks, binding, and the atomic operations on registered memory.
//
// The invariant: a byte slice handed out by [Table.Resolve] lies wholly inside a
// region that was registered, belongs to the caller's protection domain and grants
// the access asked for, at the moment of the call; one handed out by
// [Table.ResolveRemote] inside such a region, or inside a window that is bound to the
// queue pair that asks. The caller must not keep it
// beyond the engine turn in which it was resolved.
//
// The package is pure: no I/O, no clock; randomness is an argument.
package mr
