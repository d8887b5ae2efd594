package udp

import "github.com/rocinante-rdma/roce/link"

// Stats counts what a link did since it was opened, in packets unless it says
// otherwise.
type Stats struct {
	Sent          uint64 // handed to the kernel
	Received      uint64 // handed to the engine
	SuperSent     uint64 // super-frames of them, of two packets or more
	SuperReceived uint64 // super-frames of them, of two packets or more

	WouldBlock uint64 // times the send buffer was full, so that packets stayed pending
	TooBig     uint64 // dropped: larger than the MTU of the interface
	Refused    uint64 // dropped: the kernel found no route or neighbour, or a firewall said no

	// SuperRefused counts super-frames that the kernel refused as such, so that their
	// packets went singly. SuperUnknown counts the directions, sending and receiving,
	// in which it is too old to know any.
	SuperRefused, SuperUnknown uint64

	TooLong    uint64 // received and dropped: longer than any RoCEv2 packet
	Overrun    uint64 // datagrams or super-frames dropped by the kernel: the receive buffer was full; not known with OwnHost
	SockErrors uint64 // errors taken from the socket by send or receive: mostly ICMP
}

// Counters implements [link.Counted]: the numbers that tell of trouble, if not zero.
func (l *Link) Counters() (list []link.Counter) {
	s := l.Stats()
	for _, c := range []link.Counter{
		{Name: "udp: send buffer was full", Value: s.WouldBlock},
		{Name: "udp: not sent, larger than the interface's MTU", Value: s.TooBig},
		{Name: "udp: not sent, no route, neighbour or permission", Value: s.Refused},
		{Name: "udp: super-frames refused by the kernel, sent singly", Value: s.SuperRefused},
		{Name: "udp: super-frames unknown to this kernel", Value: s.SuperUnknown},
		{Name: "udp: dropped, longer than any RoCEv2 packet", Value: s.TooLong},
		{Name: "udp: dropped, the receive buffer was full", Value: s.Overrun},
		{Name: "udp: errors reported by the socket", Value: s.SockErrors},
	} {
		if c.Value != 0 {
			list = append(list, c)
		}
	}
	return list
}
