package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// dcqcnFlags are the flags of commands whose queue pairs may have congestion control by ECN.
type dcqcnFlags struct {
	params string
	cnp    bool
}

func (f *dcqcnFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.params, "dcqcn", "", "slow down when switches mark what is sent, by these `parameters`: paper or connectx")
	fs.BoolVar(&f.cnp, "cnp", false, "with --dcqcn: tell the peer when what it sends was marked; rdma_rxe before Linux 5.12 must not be told")
}

// dcqcn is what the flags ask for; nil: nothing.
func (f *dcqcnFlags) dcqcn() (*roce.DCQCN, error) {
	if f.params == "" {
		if f.cnp {
			return nil, errors.New("--cnp goes with --dcqcn: say --dcqcn paper or --dcqcn connectx too")
		}
		return nil, nil
	}
	params, err := ecn.Named(f.params)
	if err != nil {
		return nil, fmt.Errorf("--dcqcn: %w", err)
	}
	return &roce.DCQCN{Params: params, SendCNP: f.cnp}, nil
}

// rateLine says how fast a queue pair may send, and why.
func rateLine(name string, r roce.Rate) string {
	if r.BitsPerSec == 0 {
		return fmt.Sprintf("%s: not slowed down, line rate %s", name, bitRate(r.Line))
	}
	return fmt.Sprintf("%s: rate %s, target %s, line rate %s, alpha %.3f",
		name, bitRate(r.BitsPerSec), bitRate(r.Target), bitRate(r.Line), r.Alpha)
}

// bitRate writes a rate, in bit/s.
func bitRate(rate float64) string {
	switch {
	case rate == 0:
		return "unknown"
	case rate < 1e9:
		return fmt.Sprintf("%.1f Mb/s", rate/1e6)
	}
	return fmt.Sprintf("%.3f Gb/s", rate/1e9)
}

// watchRate writes once a second how fast a queue pair may send, each time over the line
// before, until done is called.
func watchRate(w io.Writer, dev *roce.Device, q *roce.QP) (done func()) {
	tick := time.NewTicker(time.Second)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for written := false; ; written = true {
			select {
			case <-tick.C:
				fmt.Fprintf(w, clearLine+"%s, %d CNPs", rateLine(q.String(), q.Rate()), dev.Counters()[roce.CounterRPCNPHandled])
			case <-over:
				if written {
					fmt.Fprintln(w)
				}
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(over)
		<-ended
	}
}
