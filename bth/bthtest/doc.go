// Package bthtest builds packets for tests, compares them, and holds frames of real
// devices to test against. It is for tests only.
//
// A packet is described by its opcode and what matters of it; the rest has
// defaults:
//
//	p := bthtest.New(bth.RCWriteOnly, bthtest.PSN(7), bthtest.RETH(va, key, 5), bthtest.Payload([]byte("hello")))
//	b := bthtest.Encode(p)          // BTH to pad
//	f := bthtest.Sealed(path, 1, p) // BTH to ICRC
package bthtest
