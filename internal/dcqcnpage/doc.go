// Package dcqcnpage proves that the DCQCN of package ecn does what theory says of it, and
// makes docs/dcqcn.md of the proof.
//
// A [Case] is something that was simulated or calculated, and a [Check] of it a number with
// what it must be. cases.go lists them all; they are defined, by subject, in openloop.go,
// closedloop.go, delay.go, fairness.go, incast.go, trap.go and stack.go. results.go is the raw
// results, page.go, tables.go and page.md write, and curves.go draws.
//
// Everything is a simulation in virtual time: whoever repeats it gets the same.
package dcqcnpage
