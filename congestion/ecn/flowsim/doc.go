// Package flowsim is a light model of flows under DCQCN before one bottleneck, packet by
// packet: what the reaction point, the notification point and the marking of package ecn
// do together, without a transport, at ten million events per second.
//
// Each flow always has data and sends packets of one size, spaced exactly by its rate. A
// packet joins the bottleneck's queue, or is dropped and forgotten if the buffer is full.
// It is marked by the queue that it leaves behind. The flow's notification point sees the
// mark, and its CNP reaches the reaction point after a fixed delay, which stands for all
// the way from the bottleneck over the receiver and the sender back to it.
//
// Time is in integer picoseconds and chance comes from a seed: a configuration always
// gives the same result, on every CPU.
//
// config.go is what can be asked for, result.go what comes out, and run.go the loop over
// events. In between are the flows (flow.go), ordered by when they act next (agenda.go),
// the bottleneck (bottleneck.go), the notification points (notify.go) and what is counted
// (measure.go).
package flowsim
