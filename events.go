package roce

import (
	"fmt"

	"github.com/rocinante-rdma/roce/link"
)

// Event is a change of the host's network below a device [ibv_async_event].
type Event = link.Event

// Kinds of events.
const (
	EventPortActive  = link.PortActive
	EventPortDown    = link.PortDown
	EventDeviceGone  = link.DeviceGone
	EventAddrAdded   = link.AddrAdded
	EventAddrRemoved = link.AddrRemoved
	EventPeerMoved   = link.PeerMoved
	EventMTUChanged  = link.MTUChanged
)

// eventDepth is how many events are kept for who does not take them.
const eventDepth = 64

// Events is the device's one channel of events, closed when the device is. Of events
// that nobody takes the first 64 are kept; [Device.Port] always tells the present
// state. Links that do not watch the host's network send none
// [ibv_get_async_event].
func (d *Device) Events() <-chan Event { return d.events }

// watch passes the link's events on, until the link is closed.
func (d *Device) watch() {
	w, ok := d.link.(link.Watched)
	if !ok {
		close(d.watched)
		return
	}
	go func() {
		defer close(d.watched)
		for e := range w.Events() {
			d.happened(e, w.State())
		}
	}()
}

// happened passes one event on. A device whose interface is gone fails its queue
// pairs: nothing else would end their work. The state tells it even if so much happened
// that the link kept no event of it.
func (d *Device) happened(e Event, state link.State) {
	if state == link.Gone {
		d.shard.Fail(fmt.Errorf("roce: %s: the interface was deleted; close the device and open another", d.Name()))
	}
	select {
	case d.events <- e:
	default:
	}
}
