package congestionlab

import (
	"fmt"
	"math"

	"github.com/rocinante-rdma/roce/internal/plots"
)

const timeAxis = "time, ms"

// RateFigure shows what the flows got, run by run.
func RateFigure(runs []*Result) (panels []plots.Panel) {
	for _, r := range runs {
		s := &r.Scenario
		p := plots.Panel{
			Title: s.title(), X: timeAxis, Y: "delivered, Mb/s", XMax: milliseconds(s.Duration), YMax: 1.1 * s.Rate / 1e6,
			Curves: r.perFlow(func(f *FlowSample) float64 { return f.Delivered / 1e6 }),
			Levels: []plots.Level{{Name: "bottleneck", Y: s.Rate / 1e6}},
		}
		if s.Senders > 1 {
			p.Levels = append(p.Levels, plots.Level{Name: "fair share", Y: s.Rate / 1e6 / float64(s.Senders)})
		}
		panels = append(panels, p)
	}
	return panels
}

// QueueFigure shows what waits in front of the receiver: means, and for one run alone the
// most, too.
func QueueFigure(runs []*Result) []plots.Panel {
	s := &runs[0].Scenario
	p := plots.Panel{
		Title: fmt.Sprintf("Queue in front of the receiver, in steps of %v", s.Sample), X: timeAxis, Y: "queue, KB", XMax: milliseconds(s.Duration),
		Levels: []plots.Level{{Name: "Kmin", Y: float64(s.RED.Kmin) / 1e3}, {Name: "Kmax", Y: float64(s.RED.Kmax) / 1e3}},
	}
	highest := 0.0
	for _, r := range runs {
		c := r.curve(r.Scenario.title(), func(s *Sample) float64 { return s.Queue / 1e3 })
		if len(runs) == 1 {
			c.Name, c.Ink = "mean", plots.Blue
			most := r.curve("most", func(s *Sample) float64 { return float64(s.QueueMost) / 1e3 })
			most.Ink = plots.Sky
			p.Curves = append(p.Curves, most)
		}
		p.Curves = append(p.Curves, c)
		highest = max(highest, float64(r.Summary.QueueMost)/1e3)
	}
	if buffer := float64(s.Buffer) / 1e3; highest > buffer/2 {
		p.Levels = append(p.Levels, plots.Level{Name: "buffer", Y: buffer})
	}
	return []plots.Panel{p}
}

// LimiterFigure shows what DCQCN thinks: the rate of every flow's limiter and its alpha.
func LimiterFigure(r *Result) []plots.Panel {
	s := &r.Scenario
	end := milliseconds(s.Duration)
	return []plots.Panel{
		{
			Title: "The limiters' rates", X: timeAxis, Y: "rate, Mb/s", XMax: end, YMax: 1.1 * s.Rate / 1e6,
			Curves: r.perFlow(func(f *FlowSample) float64 { return f.Rate / 1e6 }),
			Levels: []plots.Level{{Name: "line rate", Y: s.Rate / 1e6}},
		},
		{
			Title: "How congested the path is to them", X: timeAxis, Y: "alpha", XMax: end, YMax: 1,
			Curves: r.perFlow(func(f *FlowSample) float64 { return f.Alpha }),
		},
	}
}

// inked is how many flows have a colour and a name of their own.
const inked = 6

// perFlow is a curve for each flow, from when it began.
func (r *Result) perFlow(value func(*FlowSample) float64) (curves []plots.Curve) {
	for i := range r.Scenario.Senders {
		start := r.Scenario.Starts.Of(i)
		c := r.curve(fmt.Sprintf("flow %d", i+1), func(s *Sample) float64 {
			if s.Time <= start {
				return math.NaN()
			}
			return value(&s.Flows[i])
		})
		switch {
		case i == inked && r.Scenario.Senders > inked+1:
			c.Name, c.Ink = fmt.Sprintf("flows %d–%d", i+1, r.Scenario.Senders), plots.Grey
		case i > inked:
			c.Name, c.Ink = "", plots.Grey
		}
		curves = append(curves, c)
	}
	return curves
}

// curve is a value over time.
func (r *Result) curve(name string, value func(*Sample) float64) plots.Curve {
	c := plots.Curve{Name: name}
	for i := range r.Samples {
		c.X = append(c.X, milliseconds(r.Samples[i].Time))
		c.Y = append(c.Y, value(&r.Samples[i]))
	}
	return c
}
