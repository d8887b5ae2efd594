package ecn

import (
	"errors"
	"fmt"
)

// RED is how a congestion point marks: with a probability that rises from 0 at Kmin to
// Pmax at Kmax, and is 1 above, by the instantaneous length of the queue. Kmin = Kmax is
// plain cut-off marking.
type RED struct {
	Kmin, Kmax int     // bytes in the queue, 0 <= Kmin <= Kmax
	Pmax       float64 // more than 0, up to 1
}

// Validate reports every parameter that is out of its range.
func (r RED) Validate() error {
	return errors.Join(
		r.thresholds(),
		share("RED's Pmax", r.Pmax),
	)
}

func (r RED) thresholds() error {
	if 0 <= r.Kmin && r.Kmin <= r.Kmax {
		return nil
	}
	return fmt.Errorf("ecn: RED's Kmin is %d and its Kmax %d bytes, must be 0 <= Kmin <= Kmax", r.Kmin, r.Kmax)
}

// Probability is with which a packet is marked that finds or leaves this many bytes in
// the queue.
func (r RED) Probability(queue int) float64 {
	switch {
	case queue <= r.Kmin:
		return 0
	case queue > r.Kmax:
		return 1
	}
	return r.Pmax * float64(queue-r.Kmin) / float64(r.Kmax-r.Kmin)
}
