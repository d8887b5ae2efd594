package udp

import "github.com/rocinante-rdma/roce/link"

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

// Counters implements [link.Counted]: the numbers that tell of trouble, if not zero.
func (l *Link) Counters() (list []link.Counter) {
	s := l.Stats()
	for _, c := range []link.Counter{
		{Name: "udp: send buffer was full", Value: s.WouldBlock},
		{Name: "udp: not sent, larger than the path's MTU", Value: s.TooBig},
		{Name: "udp: not sent, no route, neighbour or permission", Value: s.Refused},
		{Name: "udp: dropped, longer than any RoCEv2 packet", Value: s.Truncated},
		{Name: "udp: dropped, the receive buffer was full", Value: s.Overrun},
		{Name: "udp: errors reported by the socket", Value: s.SockErrors},
	} {
		if c.Value != 0 {
			list = append(list, c)
		}
	}
	return list
}
