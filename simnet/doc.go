// Package simnet is a simulated network for RoCEv2: links that join one switch,
// in virtual time, deterministic to the byte, with faults by meaning ("drop the
// second acknowledgement of PSN 7").
//
//	w := simnet.New(1)
//	a := w.Link("a", netip.MustParseAddr("10.0.0.1"))
//	b := w.Link("b", netip.MustParseAddr("10.0.0.2"))
//	… open devices on a and b in manual mode, w.Attach them …
//	w.Faults.Add(simnet.Drop(simnet.Match{Op: new(bth.RCAcknowledge), Nth: 2}))
//	err := w.RunUntil(done, clock.Time(time.Second))
//
// Package fault has the rules, and scripts of them: "drop ack nth 2".
//
// # Time
//
// In virtual time (the default) nothing moves but by [World.Run], [World.RunUntil]
// and [World.Step]: time jumps to the next event or device deadline, what is due
// happens, and the devices are polled in the order in which they were attached.
// Events of the same instant happen in the order in which they were scheduled. One
// goroutine does it all, so the same seed and the same calls give the same run, to the
// byte.
//
// With [RealTime] the world follows the clock of the machine, or of a testing/synctest
// bubble if it was made in one, and devices use their own goroutines. Outside a
// bubble the timers of the Go runtime are some 0.1–1 ms late when the process
// idles, whatever latency the links have.
//
// # The way of a frame
//
// A link has a ring of packets that wait for its transmitter; a packet leaves it
// after its serialisation time ([Bandwidth]) and reaches the switch a [Latency]
// later. There faults happen to it; then it waits at the port towards its
// destination, is serialised again and arrives a latency later; a port with [Marking]
// marks it by the queue that it leaves behind. Every frame is copied at Flush and
// overwritten after Release, so that a sender which reuses memory too early and a
// receiver which keeps it too long are both found out.
package simnet
