// Package congestion decides how much a queue pair may have in the network.
//
// [Controller] is the boundary: one controller per QP, driven by the transport
// machine with the time as an argument. [Window] is the plain controller: a window
// that ordinary receivers survive, grown while little is lost, halved when all has to be
// sent again, and shrunk to what arrives when too much is lost singly.
package congestion
