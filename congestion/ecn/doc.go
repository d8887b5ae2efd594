// Package ecn is DCQCN, the congestion control of RoCEv2, as pure code: bytes, time and
// notifications go in, a rate comes out. The scheme is that of Zhu et al., "Congestion
// Control for Large-Scale RDMA Deployments", SIGCOMM 2015 ("the paper" below), with the
// parameters that NICs have given it since.
//
// Three points of the paper's section 3 work together:
//
//   - the congestion point is a switch: it marks packets CE (RFC 3168), by [RED] on the
//     length of the queue they leave through;
//   - the notification point is the receiver: [NP] answers marked packets of a flow with
//     a CNP, at once, but not more often than every 50 µs (the packet is defined in annex
//     A17 of the InfiniBand specification);
//   - the reaction point is the sender: [RP] cuts the flow's rate at a CNP and raises it
//     again by time and by bytes sent.
//
// [Controller] puts the reaction point, a token bucket that paces and the plain window
// together as the congestion control of one queue pair. Package theory calculates where
// flows settle, and package flowsim simulates them; docs/dcqcn.md holds one against the other.
//
// # Conventions
//
// Line rate is what a flow without congestion may send: the link's speed where it is
// known, else the largest rate at which the flow was seen to send while nothing limited
// it. A flow begins at line rate, not paced. The first CNP starts the limiter there, with
// the initial α. When the target is the line rate again and the rate within a thousandth
// of it, the limiter is released and its state dropped, α with it: the next CNP is a
// first one again.
//
// Texts differ by one in when fast recovery ends. Every timer or byte event adds to its own
// stage, Ts or Bs. It is fast recovery if max(Ts, Bs) < F, hyper increase if
// min(Ts, Bs) > F, else additive increase. The paper's set takes the stages with the event:
// F − 1 recoveries, then additive increase. (The published fluid model, "ECN or Delay",
// CoNEXT 2016, has F of them.) ConnectX's set takes the stages before it, as the NIC's
// model in the HPCC simulator (Alibaba, rdma-hw.cc) does: F recoveries, one additive
// increase where both stages run alike, then hyper increase. [Params.StageBefore] chooses.
// Without a byte counter Ts stands for both.
//
// Alpha falls once for each whole period without a CNP since the last cut, and rises with
// each cut, which restarts the period (the paper). The NIC's model samples a flag
// once per period instead; at its period of 1 µs that is the same within 1 µs. The NIC's
// 10-bit fixed point of α is not imitated.
//
// A CNP that comes within DecreaseInterval of the last cut changes nothing. The NIC's
// model puts such a cut off until its interval is over.
//
// # Arithmetic
//
// Time is in integer nanoseconds. Rates and α are float64 in operations that every CPU
// rounds alike: no library function, and no product that a compiler may fuse with a sum
// (the Go specification forbids that across an explicit conversion). Calls of Advance
// may come as late and as seldom as one likes: the state is the same.
package ecn
