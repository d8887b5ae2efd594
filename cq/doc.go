// Package cq holds work completions and the bounded ring that carries them from
// the engine to the application.
//
// The package is pure: it has a lock and a channel, no I/O and no clock.
package cq
