package xdp

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// txBudget is how many packets the kernel sends in one call in copy mode (the
// default of XDP_MAX_TX_SKB_BUDGET).
const txBudget = 32

// lowRoom is the room, in packets, below which senders hold back.
const lowRoom = 2

// flush sends what was reserved, and what is left of earlier flushes.
//
// In copy mode the kernel sends within the call. What it leaves in the ring is
// pending: the device is busy, or memory short. A driver with zero-copy takes the
// packets from the ring by itself, after a kick if it says so.
//
// What is flushed while the interface is down is lost, as with a cable that is pulled.
// Only what the flush that finds it down has put into the ring cannot be taken back, and
// leaves when the interface is up again.
func (s *socket) flush(c *counters) (pending int, err error) {
	if s.down = s.down && kickTx(s.fd) == unix.ENETDOWN; s.down {
		c.down.Add(uint64(s.tx.discard()))
		return 0, nil
	}
	s.tx.publish()
	left := s.tx.ring.left()
	for kicks := s.kicks(left); left > 0 && kicks > 0; kicks-- {
		switch errno := kickTx(s.fd); errno {
		case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENOMEM:
		case unix.ENETDOWN:
			s.down = true
			return 0, nil
		default:
			return 0, s.sendError(errno)
		}
		left = s.tx.ring.left()
	}
	s.tx.reap()
	switch {
	case left > 0 && !s.zeroCopy:
		c.busy.Add(1)
		return s.tx.packets(left), nil
	case s.tx.room() < lowRoom:
		// All is with the device. That its chunks come back is worth a wake-up.
		return s.tx.packets(s.tx.used()), nil
	}
	return 0, nil
}

// kicks is how many calls it takes to have the kernel look at so many entries. In copy
// mode that is reckoned, since older kernels show what they took only when they took
// all.
func (s *socket) kicks(left uint32) uint32 {
	switch {
	case !s.zeroCopy:
		return left/txBudget + 1
	case s.tx.ring.needsWakeup():
		return 1
	}
	return 0
}

func (s *socket) sendError(errno syscall.Errno) error {
	if errno == unix.ENXIO {
		return fmt.Errorf("xdp: send on %s: the interface was deleted, or moved to another network namespace: %w; close this link and open another", s.name(), errno)
	}
	return fmt.Errorf("xdp: send on %s: %w", s.name(), errno)
}
