// Package congestion decides how much a queue pair may have in the network.
//
// [Controller] is the boundary: one controller per QP, driven by the transport
// machine with the time as an argument. [Window] is the plain controller: a window
// that ordinary receivers survive, grown while nothing is lost, and halved on losses that
// are its own fault.
package congestion
