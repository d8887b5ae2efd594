// Package transport is the vocabulary that the transport machines (rc, and later
// uc and ud) share with the engine and the traces: what was done with a packet and
// why ([Verdict]), why a packet is sent ([Cause]), what kind it is ([Class]) and
// why nothing can be sent ([Blocked]).
//
// It is pure: names, small values and their words.
package transport
