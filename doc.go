// Package roce is RDMA over Converged Ethernet, version 2 (RoCEv2), in user space:
// reliable connections with SEND, RDMA WRITE, RDMA READ and atomics, over any
// [link.Link]. It needs no special adapter, and with package link/udp no privileges.
//
//	lnk, err := udp.Open(netip.MustParseAddr("10.0.0.1"))
//	dev, err := roce.Open(lnk)
//	defer dev.Close()
//
// # Two ways to use it
//
// The verbs are those of libibverbs with Go's manners: [Device], [PD], [MR], [CQ],
// [QP]; work is posted and completions are polled. Every comment ends with the
// name that C programs use, in brackets.
//
// A [Conn], made by [PD.CreateConn], wraps one connected queue pair in blocking
// calls that take a context. [Conn.QP] leads back to the verbs.
//
// # Connecting
//
// Two queue pairs are connected by exchanging their [Info] over any channel, such
// as TCP, as JSON or in one line of text, and calling [QP.Connect] on both sides.
// Memory is offered to the peer by sending it a [Remote].
//
// # Memory
//
// A buffer in a posted work request belongs to the device until the work
// completes; a region belongs to it until [MR.Close] returns. Unmapping or
// truncating memory under a live region kills the process.
//
// A memory window, [MW], lends part of a region to one peer for a while: it is bound
// and invalidated by cheap work requests, here or by the peer's SEND.
//
// The device writes to memory that peers may write at any time. A program sees what
// they wrote, and the race detector agrees, after a completion that tells of it (a
// message, or a WRITE with immediate), after [MR.Close], or by [MR.LoadUint64] with
// [AccessPolled]. That the peer said so over another connection is not enough.
//
// # Congestion
//
// A queue pair begins with a window of packets in flight, which halves when a loss is its
// own fault. With [QPConfig.DCQCN] switches may mark what it sends, and it slows down when
// the peer tells it that they did; [QP.Rate] says how fast it may send, and why.
//
// # Events
//
// What no completion tells of comes on one channel, [Device.Events]: that a shared
// receive queue runs low, a send queue is drained, a queue pair refused a request, the
// interface went down. Nobody has to listen.
//
// # Errors
//
// Work that fails completes with a [WCError], or a [RemoteError] if the peer
// refused it; the queue pair is then in ERR, and [QP.Err] says why, with the peer,
// the packet and the rule, and what to do. [CQ.Err] says both of a completion. Closed
// objects return net.ErrClosed.
//
// # Counters
//
// [Device.Counters] has the names that operators know from RDMA adapters; package
// metrics shows them to Prometheus. [Device.Stats] tells for every rule of the protocol
// how often it decided, and [QP.Stats] what one queue pair did.
package roce
