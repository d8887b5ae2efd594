// Package mad is the codec of management datagrams (MADs) and of the connection
// manager's messages in them: REQ, REP, RTU, REJ, MRA, DREQ, DREP, SIDR_REQ and
// SIDR_REP (IBTA vol. 1, 12.6 and 13.4).
//
// It is pure: bytes to fields and back, no clock, no I/O. A MAD is 256 bytes, a
// 24-byte header and a 232-byte message, and travels as the payload of a UD SEND
// to queue pair 1. All fields are big endian on the wire and host integers here.
//
// The one invariant: what [Parse] accepts, [Put] rebuilds bit for bit, reserved
// bits aside (ignored on receive, sent as zero).
package mad
