package testwire

import (
	"sync"

	"github.com/rocinante-rdma/roce/wire"
)

// table is how a switch knows where hosts are: by the ports at which their frames came
// in. It is safe for concurrent use.
type table struct {
	mu    sync.Mutex
	ports map[wire.MAC]int
}

// route learns where the sender of a frame is, and returns the ports that the frame goes
// to: that of its destination, or all others of so many if there are several or it is not
// known.
func (t *table) route(from, ports int, frame []byte) (to []int) {
	if len(frame) < wire.EthernetLen {
		return nil
	}
	dst, src := wire.MAC(frame), wire.MAC(frame[6:])
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ports == nil {
		t.ports = map[wire.MAC]int{}
	}
	t.ports[src] = from
	if port, known := t.ports[dst]; known {
		if port == from {
			return nil
		}
		return []int{port}
	}
	for port := range ports {
		if port != from {
			to = append(to, port)
		}
	}
	return to
}
