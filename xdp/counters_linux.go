package xdp

import (
	"sync/atomic"

	"github.com/rocinante-rdma/roce/link"
)

// counters are written under the shard's lock and read by anyone.
type counters struct {
	long, split atomic.Uint64
	busy, down  atomic.Uint64
}

// Counters implements [link.Counted]: the numbers that tell of trouble, if not zero.
func (p *port) Counters() (list []link.Counter) {
	p.closing.Lock()
	defer p.closing.Unlock()
	add := func(name string, value uint64) {
		if value != 0 {
			list = append(list, link.Counter{Name: "xdp: " + name, Value: value})
		}
	}
	add("dropped, longer than any RoCEv2 packet", p.count.long.Load())
	add("dropped, cut within its headers", p.count.split.Load())
	add("device took no more packets", p.count.busy.Load())
	add("not sent, the interface was down", p.count.down.Load())
	if p.closed {
		return list
	}
	var k struct{ dropped, rxFull, fillEmpty, rxInvalid, txInvalid uint64 }
	for _, s := range p.sockets {
		st := s.statistics()
		k.dropped += st.Rx_dropped
		k.rxFull += st.Rx_ring_full
		k.fillEmpty += st.Rx_fill_ring_empty_descs
		k.rxInvalid += st.Rx_invalid_descs
		k.txInvalid += st.Tx_invalid_descs
	}
	add("dropped by the kernel, too large or no chunk free", k.dropped)
	add("dropped by the kernel, RX ring full", k.rxFull)
	add("no chunk was free for a packet", k.fillEmpty)
	add("refused by the kernel, bad entry in the fill ring", k.rxInvalid)
	add("refused by the kernel, bad entry in the TX ring", k.txInvalid)
	passed := p.filter.Counts()
	add("passed to the host, no socket on the queue", passed.NoSocket)
	add("passed to the host, not to this link's addresses", passed.Foreign)
	return list
}
