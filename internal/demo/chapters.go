package demo

import (
	"bytes"
	"sync"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
)

// chapters is a sink of a recorder that cuts the recording into ladders, each with
// its own time from 0 on.
type chapters struct {
	mu      sync.Mutex
	devices []string
	drawing bytes.Buffer
	ladder  *trace.Ladder // of the current chapter
	begun   clock.Time    // when its first packet was sent; Never if none was
}

func newChapters() *chapters {
	c := &chapters{}
	c.begin()
	return c
}

func (c *chapters) begin() {
	c.drawing.Reset()
	c.begun = clock.Never
	c.ladder = trace.NewLadder(&c.drawing, trace.LadderOptions{Width: width})
	for _, name := range c.devices {
		_ = c.ladder.Device(name) // never fails
	}
}

// cut draws what was recorded since the last cut.
func (c *chapters) cut(s trace.Stats) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ladder.Close(s)
	drawn := c.drawing.String()
	c.begin()
	return drawn, err
}

// Device implements [trace.Sink].
func (c *chapters) Device(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.devices = append(c.devices, name)
	return c.ladder.Device(name)
}

// Packet implements [trace.Sink].
func (c *chapters) Packet(r *trace.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == clock.Never {
		c.begun = r.Time
	}
	shifted := *r
	shifted.Time -= c.begun
	return c.ladder.Packet(&shifted)
}

// Flush implements [trace.Sink].
func (c *chapters) Flush() error { return nil }

// Close implements [trace.Sink]. What came after the last cut is drawn nowhere.
func (c *chapters) Close(trace.Stats) error { return nil }
