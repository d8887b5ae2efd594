package flowsim

import "time"

// counts is what has happened: since the last sample, and since the warm-up.
type counts struct {
	nextSample, sampled instant
	tally
	samples []Sample

	measured  tally
	delivered []int64 // packets by flow
	alphaArea float64 // of all flows, in picoseconds
	active    instant // time of all flows since they started
}

// tally counts packets.
type tally struct{ sent, dropped, marked, notified int64 }

func (t *tally) add(u tally) {
	t.sent += u.sent
	t.dropped += u.dropped
	t.marked += u.marked
	t.notified += u.notified
}

// sample ends an interval between samples.
func (s *sim) sample() {
	s.link.lengths.was(s.link.len, s.now)
	span := s.now - s.sampled
	one := Sample{
		At:      time.Duration(s.now / nanosecond),
		Queue:   float64(s.link.lengths.area) * float64(s.link.packet) / float64(span),
		Longest: s.link.lengths.most * s.link.packet,
		Sent:    s.sent,
		Dropped: s.dropped,
		Marked:  s.marked,
		CNPs:    s.notified,
		Flows:   make([]FlowSample, len(s.flows)),
	}
	warm := s.now > instantOf(s.config.WarmUp)
	for i := range s.flows {
		one.Flows[i] = s.sampleFlow(i, span, warm)
		one.Delivered += one.Flows[i].Delivered
	}
	s.samples = append(s.samples, one)
	if warm {
		s.measured.add(s.tally)
	}
	if s.now == instantOf(s.config.WarmUp) {
		clear(s.link.lengths.time)
	}
	s.tally, s.link.lengths.area, s.link.lengths.most = tally{}, 0, s.link.len
	s.sampled, s.nextSample = s.now, s.now+instantOf(s.config.Sample)
}

// sampleFlow is the sample of a flow, which counts in the result once it is warm.
func (s *sim) sampleFlow(i int, span instant, warm bool) FlowSample {
	f := &s.flows[i]
	if f.started {
		f.account(s.now)
	}
	if warm {
		s.delivered[i] += f.delivered
		s.alphaArea += f.alphaArea
		if begun := instantOf(f.Start); begun < s.now {
			s.active += min(span, s.now-begun)
		}
	}
	one := FlowSample{Delivered: f.delivered * int64(s.config.Packet)}
	if f.started {
		one.Rate, one.Target, one.Alpha = f.rate(), f.target(), f.rp.Alpha()
	}
	f.delivered, f.alphaArea = 0, 0
	return one
}
