package ecn

import (
	"fmt"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
)

// Config is what a [Controller] is made of.
type Config struct {
	// Params are the reaction point's parameters; the zero Params mean [Paper].
	Params Params
	// LineRate is the link's speed in bit/s. 0: nobody knows, and it is measured.
	LineRate float64
}

// Controller is DCQCN for one queue pair: the plain window for what may be in flight, the
// reaction point for the rate, the token bucket for when a packet may leave. It implements
// [congestion.Controller]. At line rate it does not pace.
type Controller struct {
	window
	config   Config
	reaction reaction
	measured lineRate
}

// window is embedded under this name because Window is one of its methods.
type window = congestion.Window

// New makes a controller, to be started. It refuses parameters that are out of range.
func New(c Config) (*Controller, error) {
	if c.Params == (Params{}) {
		c.Params = Paper()
	}
	if err := c.Params.Validate(); err != nil {
		return nil, err
	}
	if !(c.LineRate >= 0 && c.LineRate <= 10*terabit) {
		return nil, fmt.Errorf("ecn: LineRate is %v bit/s, must be 0 (measure it) or up to %v", c.LineRate, 10*terabit)
	}
	return &Controller{config: c}, nil
}

// Start implements [congestion.Controller].
func (c *Controller) Start(now clock.Time, pathMTU int) {
	c.window.Start(now, pathMTU)
	c.measured = lineRate{}
	c.reaction = reaction{}
	c.reaction.rp.Init(c.config.Params, c.config.LineRate)
	c.reaction.pace(now)
}

// Sent implements [congestion.Controller].
func (c *Controller) Sent(now clock.Time, bytes int) {
	c.reaction.advance(now)
	if c.reaction.rp.Limiting() {
		c.reaction.sent(now, bytes)
		return
	}
	if c.config.LineRate == 0 && c.measured.sent(now, bytes) {
		c.reaction.rp.SetLine(c.measured.rate())
	}
}

// CNP implements [congestion.Controller].
func (c *Controller) CNP(now clock.Time) {
	c.reaction.advance(now)
	if c.config.LineRate == 0 && !c.reaction.rp.Limiting() {
		c.measured.pause(now)
		c.reaction.rp.SetLine(c.measured.rate())
	}
	c.reaction.rp.CNP(now)
	c.reaction.pace(now)
}

// NextSend implements [congestion.Controller].
func (c *Controller) NextSend(now clock.Time) clock.Time {
	c.reaction.advance(now)
	if !c.reaction.rp.Limiting() {
		return now
	}
	return c.reaction.next(now)
}

// Rate implements [congestion.Controller].
func (c *Controller) Rate() congestion.Rate {
	rate, rp := c.window.Rate(), &c.reaction.rp
	rate.Line, rate.Target = rp.Line(), rp.Line()
	if rp.Limiting() {
		rate.BitsPerSec, rate.Target, rate.Alpha = rp.Rate(), rp.Target(), rp.Alpha()
	}
	return rate
}
