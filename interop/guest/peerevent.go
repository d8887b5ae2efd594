//go:build linux

package guest

import (
	"context"
	"time"
)

// PeerEvent is an asynchronous event, with the values of enum ibv_event_type.
type PeerEvent int

// The events that tests wait for.
const (
	PeerNoEvent   PeerEvent = -1
	PeerSQDrained PeerEvent = 5
	PeerSRQLimit  PeerEvent = 15
)

// Event waits at most for the given time for the device's next event.
func (p *Peer) Event(ctx context.Context, timeout time.Duration) (PeerEvent, error) {
	var v struct{ Event PeerEvent }
	err := p.order(ctx, &v, "event", "timeout", timeout.Milliseconds())
	return v.Event, err
}
