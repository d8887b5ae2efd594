package roce

import (
	"fmt"

	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
)

// Limits of queue pairs and completion queues.
const (
	maxQueueDepth = 1 << 16
	maxCQDepth    = 1 << 20
	maxInline     = 1 << 10
)

// DeviceAttr says what a device offers [ibv_device_attr].
type DeviceAttr struct {
	Name        string
	MaxQP       int    // queue pairs
	MaxQPWR     int    // work requests per queue
	MaxSRQWR    int    // work requests per shared receive queue
	MaxSGE      int    // pieces per work request
	MaxInline   int    // bytes of inline data
	MaxCQE      int    // completions per CQ
	MaxMR       int    // memory regions …
	MaxMW       int    // … and windows, which share the one number
	MaxRdAtomic int    // READs and atomics outstanding per queue pair and direction
	MaxMessage  uint32 // bytes per message; of a READ over path MTU 256 one packet less: its PSNs must not go half round
}

// String lists the attributes.
func (a DeviceAttr) String() string {
	return fmt.Sprintf("%s: max_qp %d, max_qp_wr %d, max_srq_wr %d, max_sge %d, max_inline %d, max_cqe %d, max_mr %d, max_mw %d, max_rd_atomic %d, max_msg_sz %d",
		a.Name, a.MaxQP, a.MaxQPWR, a.MaxSRQWR, a.MaxSGE, a.MaxInline, a.MaxCQE, a.MaxMR, a.MaxMW, a.MaxRdAtomic, a.MaxMessage)
}

// Attr says what the device offers. What is advertised is what is enforced
// [ibv_query_device].
func (d *Device) Attr() DeviceAttr {
	return DeviceAttr{
		Name: d.Name(), MaxQP: engine.MaxQP, MaxQPWR: maxQueueDepth, MaxSRQWR: maxQueueDepth, MaxSGE: link.MaxSGE, MaxInline: maxInline,
		MaxCQE: maxCQDepth, MaxMR: mr.MaxRegions, MaxMW: mr.MaxRegions, MaxRdAtomic: qp.MaxRdAtomic, MaxMessage: qp.MaxMessage,
	}
}

// PortAttr describes the one port of a device [ibv_port_attr].
type PortAttr struct {
	State     string // ACTIVE; DOWN while the interface is, or once the device is closed; GONE once the interface was deleted
	LinkMTU   int    // largest IP packet, bytes
	ActiveMTU int    // largest path MTU that fits it: payload bytes per packet
	MaxMTU    int    // largest path MTU of any link
	GIDs      int    // addresses
}

// String lists the attributes.
func (a PortAttr) String() string {
	return fmt.Sprintf("%s, active_mtu %d, max_mtu %d, link MTU %d, %d GIDs", a.State, a.ActiveMTU, a.MaxMTU, a.LinkMTU, a.GIDs)
}

// Port describes the device's port [ibv_query_port].
func (d *Device) Port() PortAttr {
	return PortAttr{
		State: d.portState().String(), LinkMTU: d.link.MTU(), ActiveMTU: d.pathMTU(), MaxMTU: link.MaxPayload, GIDs: len(d.link.Addrs()),
	}
}

func (d *Device) portState() link.State {
	if d.isClosed() {
		return link.Down
	}
	if w, ok := d.link.(link.Watched); ok {
		return w.State()
	}
	return link.Active
}

func (d *Device) pathMTU() int { return link.PathMTU(d.link.MTU()) }

func (d *Device) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}
