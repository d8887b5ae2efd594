package ecn

import (
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
)

// mostRises bounds how many rises of the rate are foreseen when a packet waits. Whoever
// waits longer is woken early, and asks again.
const mostRises = 16

// reaction is a reaction point and the pacer that obeys it.
type reaction struct {
	rp    RP
	pacer congestion.Pacer
}

// advance does what is due by now.
func (r *reaction) advance(now clock.Time) {
	if r.rp.reacting {
		r.rise(now)
	}
}

// rise does the timer events that are due, each at its time, so that credit grows with the
// rate there was.
func (r *reaction) rise(now clock.Time) {
	for due := r.rp.Deadline(); due <= now; due = r.rp.Deadline() {
		r.rp.Advance(due)
		r.pace(due)
	}
	r.rp.Advance(now)
}

// pace gives the pacer the present rate.
func (r *reaction) pace(now clock.Time) {
	if r.rp.Limiting() {
		r.pacer.SetRate(now, r.rp.Rate())
	} else {
		r.pacer.SetRate(now, 0)
	}
}

// sent tells of bytes that were sent now, to where it was advanced.
func (r *reaction) sent(now clock.Time, bytes int) {
	r.pacer.Spend(now, bytes)
	r.rp.Sent(now, bytes)
	r.pace(now)
}

// next is when the next packet may leave if nothing but time happens until then: a flow
// at a low rate does not sleep through its recovery.
func (r *reaction) next(now clock.Time) clock.Time {
	at := r.pacer.Next(now)
	if at <= r.rp.Deadline() {
		return at
	}
	then := *r
	for range mostRises {
		due := then.rp.Deadline()
		then.advance(due)
		if at = then.pacer.Next(due); at <= then.rp.Deadline() {
			break
		}
	}
	return min(at, then.rp.Deadline())
}
