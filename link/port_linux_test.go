package link_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// E12: a device is ACTIVE at once after it was opened, and works; DOWN while the
// interface is down, also if it was opened then; ACTIVE again, and works, when that is
// up. The kernel's sockets do not tell: udp is always ACTIVE.
func TestPortState(t *testing.T) {
	for name, watches := range map[string]bool{"udp": false, "raw": true, "xdp": true} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			x, y := connect(t, openers[name], openers["udp"], s)
			require.Contains(t, x.dev.Port().String(), "ACTIVE, active_mtu 4096")
			sendAll(t, x, y, depth)

			setInterface(t, s.A, netlink.LinkSetDown)
			if !watches {
				require.Equal(t, "ACTIVE", x.dev.Port().State)
				return
			}
			awaitEvent(x.dev, roce.EventPortError)
			require.Equal(t, "DOWN", x.dev.Port().State)
			require.NoError(t, x.dev.Close())
			x = newEnd(t, openers[name], s.A)
			require.Equal(t, "DOWN", x.dev.Port().State)

			setInterface(t, s.A, netlink.LinkSetUp)
			awaitEvent(x.dev, roce.EventPortActive)
			require.Equal(t, "ACTIVE", x.dev.Port().State)
			reconnect(t, x, y, s, 4096)
			sendAll(t, x, y, depth)
		})
	}
}

func setInterface(t *testing.T, h *netns.Host, to func(netlink.Link) error) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		return to(l)
	}))
}

// awaitEvent awaits an event of a kind.
func awaitEvent(d *roce.Device, kind roce.EventKind) {
	for e := range d.Events() {
		if e.Kind == kind {
			return
		}
	}
	panic("the device was closed")
}
