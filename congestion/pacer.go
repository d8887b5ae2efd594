package congestion

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

const (
	// creditTime is how much time's worth of sending a pacer saves up: it makes up for
	// a wake-up that comes this late.
	creditTime = 50 * time.Microsecond
	// nanobitsPerByte is how credit is counted: bit/s times ns are nanobits, exactly.
	nanobitsPerByte = 8_000_000_000
	// mostRate bounds rates so that credit cannot overflow: 10 Tb/s.
	mostRate = 10_000_000_000_000
)

// Pacer is the token bucket of one queue pair. A packet may leave while the credit is not
// negative, then its bytes are taken off; credit grows with the rate, up to Credit. So
// in any time T no more leaves than rate·T, Credit and one packet; and if the pacer is
// asked as soon as Next says, no more than rate·T and one packet.
//
// It counts in integers, without drift. The zero Pacer does not limit. It is not safe for
// concurrent use.
type Pacer struct {
	rate   int64      // bit/s; 0: unpaced
	credit int64      // nanobits, negative: debt
	asOf   clock.Time // up to when credit was added
	packet int64      // the largest so far, in nanobits
}

// SetRate changes the rate, to the nearest bit/s and at least 1; 0 ends pacing. Credit and
// debt from before stay, as far as Credit allows; a flow that was not paced begins with
// neither.
func (p *Pacer) SetRate(now clock.Time, bitsPerSec float64) {
	if bitsPerSec <= 0 {
		p.rate = 0
		return
	}
	if p.rate == 0 {
		p.credit, p.asOf = 0, now
	}
	p.fill(now)
	p.rate = int64(min(max(bitsPerSec+0.5, 1), mostRate))
	p.credit = min(p.credit, p.most())
}

// Spend takes off a packet that left, in bytes.
func (p *Pacer) Spend(now clock.Time, bytes int) {
	size := int64(bytes) * nanobitsPerByte
	p.packet = max(p.packet, size)
	if p.rate == 0 {
		return
	}
	p.fill(now)
	p.credit -= size
}

// Next is when the next packet may leave, given that the rate stays: now if it may at
// once.
func (p *Pacer) Next(now clock.Time) clock.Time {
	if p.rate == 0 {
		return now
	}
	p.fill(now)
	if p.credit >= 0 {
		return now
	}
	return now + clock.Time((-p.credit+p.rate-1)/p.rate)
}

// Credit is what may be saved up, in bytes: the larger of one packet, the largest so far,
// and what the rate allows in 50 µs.
func (p *Pacer) Credit() int { return int(p.most() / nanobitsPerByte) }

func (p *Pacer) most() int64 { return max(p.packet, p.rate*int64(creditTime)) }

// fill adds the credit of the time since it was last called.
func (p *Pacer) fill(now clock.Time) {
	elapsed := int64(now.Sub(p.asOf))
	if elapsed <= 0 {
		return
	}
	p.asOf = now
	missing := p.most() - p.credit
	if elapsed > missing/p.rate {
		p.credit += missing
		return
	}
	p.credit += elapsed * p.rate
}
