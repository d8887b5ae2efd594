package congestionlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rocinante-rdma/roce/trace"
)

// Progress is told of every sample of a run, which is known by its title.
type Progress func(run string, s *Sample)

// Play runs a scenario, and with compare the same without DCQCN, too, and puts all that
// there is to see into the album.
func (a *Album) Play(ctx context.Context, s Scenario, compare bool, p Progress) (runs []*Result, err error) {
	variants := []Scenario{s}
	if compare {
		plain := s
		plain.DCQCN = false
		variants = append(variants, plain)
	}
	for _, v := range variants {
		r, err := a.play(ctx, v, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.title(), err)
		}
		runs = append(runs, r)
	}
	return runs, a.add(runs)
}

// play runs one scenario, with a capture if there is congestion to be told of.
func (a *Album) play(ctx context.Context, s Scenario, p Progress) (*Result, error) {
	o := Options{Progress: func(sample *Sample) { p(s.title(), sample) }}
	if !s.DCQCN {
		return Run(ctx, s, o)
	}
	f, err := a.create("run.pcapng")
	if err != nil {
		return nil, err
	}
	o.Recorder = newCapture(f)
	r, err := Run(ctx, s, o)
	return r, errors.Join(err, o.Recorder.Close(), f.Close())
}

// newCapture is a recorder of marked packets and CNPs, without their payloads. Its time
// begins with the run.
func newCapture(w io.Writer) *trace.Recorder {
	return trace.NewSync(trace.NewPcapng(w, time.Time{}, trace.HeadersOnly))
}
