package dcqcnpage

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
	"github.com/rocinante-rdma/roce/internal/plots"
)

// Curves draws the page's pictures into a folder.
func Curves(dir string) error {
	for name, picture := range map[string]func() ([]plots.Panel, error){
		"sawtooth.svg": sawtooth, "delay.svg": delays, "fairness.svg": shares, "incast.svg": burst, "trap.svg": silence,
	} {
		panels, err := picture()
		if err == nil {
			err = plots.Save(filepath.Join(dir, name), panels...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return stackCurves(dir)
}

const (
	timeAxis  = "time, ms"
	rateAxis  = "rate, Gb/s"
	queueAxis = "queue, KB"
)

// curve is something of the samples from a time on, which is then zero.
func curve(r *flowsim.Result, from time.Duration, name string, of func(*flowsim.Sample) float64) plots.Curve {
	c := plots.Curve{Name: name}
	for i := range r.Samples {
		if s := &r.Samples[i]; s.At >= from {
			c.X = append(c.X, ms(s.At-from))
			c.Y = append(c.Y, of(s))
		}
	}
	return c
}

func queueCurve(r *flowsim.Result, from time.Duration, name string) plots.Curve {
	return curve(r, from, name, func(s *flowsim.Sample) float64 { return s.Queue / 1e3 })
}

// delivered is a flow's throughput between samples.
func delivered(r *flowsim.Result, flow int) plots.Curve {
	return curve(r, 0, fmt.Sprintf("flow %d", flow+1), func(s *flowsim.Sample) float64 {
		return float64(8*s.Flows[flow].Delivered) / r.Interval.Seconds() / 1e9
	})
}

var thresholds = []plots.Level{{Name: "Kmin", Y: float64(usual.Kmin) / 1e3}, {Name: "Kmax", Y: float64(usual.Kmax) / 1e3}}

// sawtooth is one of ten flows for 10 ms: what it does, what it thinks, and the queue.
func sawtooth() ([]plots.Panel, error) {
	const flows = 10
	c := scene(flowsim.Equal(flows, capacity), 1)
	c.Sample, c.Length = 10*time.Microsecond, 110*time.Millisecond
	r, err := flowsim.Run(c, nil)
	if err != nil {
		return nil, err
	}
	from := 100 * time.Millisecond
	rates := curve(r, from, "rate", func(s *flowsim.Sample) float64 { return s.Flows[0].Rate / 1e9 })
	target := curve(r, from, "target", func(s *flowsim.Sample) float64 { return s.Flows[0].Target / 1e9 })
	target.Form = plots.Dashed
	alpha := curve(r, from, "", func(s *flowsim.Sample) float64 { return s.Flows[0].Alpha })
	return []plots.Panel{
		{Title: "One of ten flows", X: timeAxis, Y: rateAxis, Curves: []plots.Curve{rates, target}, Levels: []plots.Level{{Name: "fair share", Y: capacity / 1e9 / flows}}},
		{Title: "Its alpha", X: timeAxis, Y: "alpha", Curves: []plots.Curve{alpha}},
		{Title: "The queue", X: timeAxis, Y: queueAxis, Curves: []plots.Curve{queueCurve(r, from, "")}, Levels: thresholds},
	}, nil
}

// delays is the queue of ten flows with quick feedback and with slow.
func delays() (panels []plots.Panel, err error) {
	for _, delay := range []time.Duration{near, distant} {
		c := scene(flowsim.Equal(10, capacity), 1)
		c.Delay, c.Sample, c.Length = delay, 10*time.Microsecond, 105*time.Millisecond
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return nil, err
		}
		panels = append(panels, plots.Panel{
			Title: fmt.Sprintf("Ten flows, feedback after %v", delay), X: timeAxis, Y: queueAxis, YMax: 220,
			Curves: []plots.Curve{queueCurve(r, 100*time.Millisecond, "")}, Levels: thresholds,
		})
	}
	return panels, nil
}

// shares are the throughputs of the scenarios of fairness.
func shares() (panels []plots.Panel, err error) {
	for _, scenario := range []struct {
		title string
		c     flowsim.Config
	}{
		{"A second flow joins at 5 Gb/s", lateConfig(1)},
		{"The same, cut-off marking", cutOffConfig(1)},
		{"The same, cut-off marking and the timers of QCN", qcnConfig(1)},
		{"A third flow joins at line rate", thirdConfig(1)},
	} {
		c := scenario.c
		c.Length = 300 * time.Millisecond
		c.WarmUp, c.Sample = 0, 2*time.Millisecond
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return nil, err
		}
		p := plots.Panel{Title: scenario.title, X: timeAxis, Y: rateAxis, YMax: 42,
			Levels: []plots.Level{{Name: "fair share", Y: capacity / 1e9 / float64(len(c.Flows))}}}
		for i := range c.Flows {
			p.Curves = append(p.Curves, delivered(r, i))
		}
		panels = append(panels, p)
	}
	return panels, nil
}

// burst is how an incast begins.
func burst() ([]plots.Panel, error) {
	queue := plots.Panel{Title: "Twenty senders begin at once", X: timeAxis, Y: queueAxis,
		Levels: append([]plots.Level{{Name: "buffer", Y: incastBuffer / 1e3}}, thresholds...)}
	rates := plots.Panel{Title: "Three of them, with DCQCN", X: timeAxis, Y: rateAxis,
		Levels: []plots.Level{{Name: "fair share", Y: capacity / 1e9 / incastFlows}}}
	for _, off := range []bool{false, true} {
		c := incastConfig(1, off)
		c.WarmUp, c.Length, c.Sample = 0, 5*time.Millisecond, 20*time.Microsecond
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return nil, err
		}
		if off {
			queue.Curves = append(queue.Curves, queueCurve(r, 0, "no control"))
			continue
		}
		queue.Curves = append(queue.Curves, queueCurve(r, 0, "DCQCN"))
		for i := range 3 {
			rates.Curves = append(rates.Curves, curve(r, 0, fmt.Sprintf("sender %d", i+1), func(s *flowsim.Sample) float64 { return s.Flows[i].Rate / 1e9 }))
		}
		rates.YMax = 10
	}
	return []plots.Panel{queue, rates}, nil
}

// silence is how the start-up trap springs: the queue, and how many flows send.
func silence() ([]plots.Panel, error) {
	const start = 10 * time.Millisecond
	queue := plots.Panel{Title: "64 senders begin at once", X: timeAxis, Y: "queue, MB"}
	sending := plots.Panel{Title: "Those that send, in each 20 ms", X: timeAxis, Y: "flows", YMax: trapFlows + 2}
	for _, v := range trapVariants[:3] {
		c := trapConfig(v, 1)
		c.WarmUp, c.Length, c.Sample = 0, 600*time.Millisecond, 100*time.Microsecond
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return nil, err
		}
		sending.Curves = append(sending.Curves, senders(r, v.name))
		r.Samples = r.Samples[:start/c.Sample]
		queue.Curves = append(queue.Curves, curve(r, 0, v.name, func(s *flowsim.Sample) float64 { return s.Queue / 1e6 }))
	}
	return []plots.Panel{queue, sending}, nil
}

func senders(r *flowsim.Result, name string) plots.Curve {
	const bin = 20 * time.Millisecond
	c := plots.Curve{Name: name}
	sent := make([]bool, trapFlows)
	for _, s := range r.Samples {
		for i, f := range s.Flows {
			sent[i] = sent[i] || f.Delivered > 0
		}
		if s.At%bin == 0 {
			c.X, c.Y = append(c.X, ms(s.At)), append(c.Y, float64(count(sent)))
			clear(sent)
		}
	}
	return c
}

func count(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}
