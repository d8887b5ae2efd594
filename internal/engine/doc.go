// Package engine runs the transport machines of a device: it receives frames from
// a link, checks them and finds their queue pair, drives the machines' timers,
// publishes completions, and sends what the machines have to send.
//
// # Shard and turn
//
// A [Shard] is state under a lock, run by whoever needs it. One pass over it is a
// turn, always in the same order:
//
//	clock → receive → doorbells → timers → publish completions → transmit
//
// Receiving is bounded, so that a flood cannot keep the rest waiting. Completions
// come before transmitting, because sending takes longest: the application sees
// its message before our acknowledgement leaves. In transmit, requests and READ
// responses go first and acknowledgements last, in a slot kept for them, so that
// they ride at the end of a burst.
//
// Files: turn.go is the turn; receive.go, demux.go, doorbell.go, deadlines.go and
// transmit.go are its steps; pacing.go and notify.go are congestion control; progress.go,
// wait.go and background.go decide who runs it; qp.go, cq.go and close.go are what the
// device's owner calls.
//
// # Who runs turns
//
// At most one goroutine leads: it runs turns, and parks in the link, without the
// lock, when there is nothing to do. Goroutines that wait for completions compete
// for leadership; the others sleep on channels, and who has what it came for hands
// on. A background goroutine leads when nobody waits. Besides, [CQ.Poll] runs a
// turn inline if the lock is free, and who posts work transmits it inline. With
// GOMAXPROCS=1 an application that never blocks keeps the background from running.
//
// In [Manual] mode nothing of this happens: the owner calls [Shard.Poll].
//
// Locks are taken in the order shard, CQ. Nothing of the application runs under
// them, except the tap.
package engine
