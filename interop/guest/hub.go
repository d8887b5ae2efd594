//go:build linux

package guest

import (
	"context"
	"slices"
	"sync"
)

// cable is an Ethernet cable at whose other end a guest or a kernel is.
type cable interface {
	// read waits for the next frame, which is then the caller's, until the cable is
	// closed.
	read() ([]byte, error)
	// write fails once the cable is closed. It does not keep the frame, but may change
	// its bytes.
	write(frame []byte) error
}

// hub joins cables: a frame from one goes to all others.
type hub struct {
	mu     sync.Mutex
	cables []cable
}

// plug adds a cable until it is closed.
func (h *hub) plug(c cable) {
	h.mu.Lock()
	h.cables = append(h.cables, c)
	h.mu.Unlock()
	go h.serve(c)
}

// serve carries the frames of one cable.
func (h *hub) serve(c cable) {
	for {
		frame, err := c.read()
		if err != nil {
			break
		}
		for _, to := range h.others(c) {
			_ = to.write(slices.Clone(frame)) // fails only when that end is going away
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cables = slices.DeleteFunc(h.cables, func(x cable) bool { return x == c })
}

func (h *hub) others(c cable) []cable {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.cables), func(x cable) bool { return x == c })
}

func (w *Wire) read() ([]byte, error) { return w.ReadFrame(context.Background()) }

func (w *Wire) write(frame []byte) error { return w.WriteFrame(frame) }
