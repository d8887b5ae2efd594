package udp

// Stats counts what a link did since it was opened, in packets unless it says
// otherwise.
type Stats struct {
	Sent     uint64 // handed to the kernel
	Received uint64 // handed to the engine

	WouldBlock uint64 // times the send buffer was full, so that packets stayed pending
	TooBig     uint64 // dropped: larger than the MTU the kernel knows for the destination
	Refused    uint64 // dropped: the kernel found no route or neighbour, or a firewall said no

	Truncated  uint64 // received and dropped: longer than any RoCEv2 packet
	Overrun    uint64 // dropped by the kernel: the receive buffer was full
	SockErrors uint64 // errors taken from the socket by send or receive: mostly ICMP
}
