// Package congestion decides how much a queue pair may have in the network, and when its
// next packet may leave.
//
// [Controller] is the boundary: one controller per QP, driven by the transport machine and
// the engine with the time as an argument. [Window] is the plain controller: a window
// that ordinary receivers survive, grown while nothing is lost, and halved on losses that
// are its own fault; it does not pace. [Pacer] spaces packets by a rate. Package
// congestion/ecn makes a controller of both, whose rate obeys marks: DCQCN.
package congestion
