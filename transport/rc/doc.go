// Package rc is the reliable connection (RC) machine of one queue pair: requester,
// completer and responder, without any I/O (IBTA vol. 1, chapter 9).
//
// Packets and the time come in, packets and completions go out:
//
//   - [Machine.Receive] takes one packet of the peer and says in a verdict what was
//     done with it;
//   - [Machine.Next] commits one packet to be sent, pulled by whoever has room for
//     it: the machine queues nothing, and a retransmission reads the user's memory
//     again;
//   - [Machine.Advance] does what is due; [Machine.Deadline] says when that is.
//
// There is no goroutine, channel, timer, lock or system call here, and nothing is
// allocated once the queue pair is connected, but what a [ReorderPool] takes until it
// has enough. The machine belongs to one shard, whose lock its caller holds. The rings
// of work queue elements belong to package qp.
//
// # Where to find a rule
//
//	requester.go  what is sent next: fences, limits, windows, PSNs (9.7.3)
//	build.go      request packets: segmentation, READ and atomic requests (9.7.3)
//	local.go      binding and invalidating memory windows (10.6.5.1, 10.8.3.3)
//	completer.go  acknowledgements, READ data, atomic results, NAKs (9.7.5, 9.9.2)
//	recovery.go   going back, timeouts, RNR waits, retry counts (9.7.5.2, 9.7.6)
//	repair.go     sending again only what a peer misses that keeps the rest (9.7.5.1.2)
//	roundtrip.go  the measured round trip, and what is overdue by it
//	responder.go  requests in the order of IBTA's checks, a loop over named steps (9.7.4, 9.9.3)
//	reorder.go    requests that come before their turn; reorderpool.go their memory
//	execute.go    what a request does to memory and to the receive queue
//	replay.go     READ and atomic answers, their resources, duplicates (9.4.4, 9.4.5, 9.7.4)
//	memory.go     the pieces of local buffers
//	receives.go   the queue pair's own receives, or those it shares (10.2.9)
//	credits.go    how many receives the peer has, and we (9.7.7.2)
//	drain.go      SQD, and what may be changed in it (10.3.1.5, 11.2.5.2)
//	notify.go     congestion notifications (annex A17)
//	acks.go       which acknowledgement or NAK is owed, and when it may go (9.7.5)
//	machine.go    the state of a queue pair, what goes in and out, whose turn it is to send
//	failure.go    errors, completions with error, flushing (10.3.1.7, 10.10.2)
//
// # What a peer may notice
//
// At most one cumulative ACK per turn. A SEND longer than the posted receive is
// refused with NAK invalid request. A READ restarted in its middle is answered
// with First/Only again. A gap inside READ data is repaired at once, without
// waiting for the timeout. One NAK follows a not-ready receiver, not two. What came
// behind a gap is acknowledged with what fills it. After the first loss the missing packet
// comes alone, if a round trip was measured by then; and to a peer that turns out to keep
// the rest, nothing else comes again after later ones. After a loss, what is not answered
// within the usual round trip comes again before the timeout.
// Acknowledgements tell of no credits, unless the queue pair was made to count them.
package rc
