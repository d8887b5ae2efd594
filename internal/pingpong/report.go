package pingpong

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rocinante-rdma/roce"
)

// Result is what a run measured.
type Result struct {
	Local, Remote Endpoint
	Link          string // the local end's, and how it works, such as "xdp eth0, native, copy"
	Size, Iters   int
	Elapsed       time.Duration // from the first send to the last completion
	Checked       int           // messages whose data was looked at
	Retransmitted uint64        // packets that this end sent again
	Counters      roce.Counters // of this end's device, when the last message had come
	Rate          *roce.Rate    // that this end's queue pair had then; nil without DCQCN
}

// bytes is what went over the wire in both directions, without headers.
func (r *Result) bytes() int64 { return int64(r.Size) * int64(r.Iters) * 2 }

func (r *Result) usec() float64 { return max(float64(r.Elapsed)/1e3, 1) }

func (r *Result) mbitPerSec() float64 { return float64(r.bytes()) * 8 / r.usec() }

func (r *Result) usecPerIter() float64 { return r.usec() / float64(r.Iters) }

// The lines of the report, in the tool's form; that of the link is ours.

func printLocal(w io.Writer, e Endpoint) { fmt.Fprintf(w, "  local address:  %v\n", e) }

func printRemote(w io.Writer, e Endpoint) { fmt.Fprintf(w, "  remote address: %v\n", e) }

func printLink(w io.Writer, name string) { fmt.Fprintf(w, "  link:           %s\n", name) }

func (r *Result) print(w io.Writer) {
	fmt.Fprintf(w, "%d bytes in %.2f seconds = %.2f Mbit/sec\n", r.bytes(), r.usec()/1e6, r.mbitPerSec())
	fmt.Fprintf(w, "%d iters in %.2f seconds = %.2f usec/iter\n", r.Iters, r.usec()/1e6, r.usecPerIter())
}

// MarshalJSON gives the report for programs: one object, GIDs as text.
func (r *Result) MarshalJSON() ([]byte, error) {
	type end struct {
		LID uint16 `json:"lid"`
		QPN uint32 `json:"qpn"`
		PSN uint32 `json:"psn"`
		GID string `json:"gid"`
	}
	ofEnd := func(e Endpoint) end { return end{e.LID, e.QPN, uint32(e.PSN), e.GID.String()} }
	return json.Marshal(struct {
		Local         end     `json:"local"`
		Remote        end     `json:"remote"`
		Link          string  `json:"link"`
		Size          int     `json:"size"`
		Iters         int     `json:"iters"`
		Bytes         int64   `json:"bytes"`
		Seconds       float64 `json:"seconds"`
		MbitPerSec    float64 `json:"mbit_per_sec"`
		UsecPerIter   float64 `json:"usec_per_iter"`
		Checked       int     `json:"checked"`
		Retransmitted uint64  `json:"retransmitted"`

		Counters roce.Counters `json:"counters"`
		Rate     *rate         `json:"rate,omitempty"`
	}{
		ofEnd(r.Local), ofEnd(r.Remote), r.Link, r.Size, r.Iters, r.bytes(), r.usec() / 1e6,
		r.mbitPerSec(), r.usecPerIter(), r.Checked, r.Retransmitted,
		r.Counters, rateOf(r.Rate),
	})
}

// rate is a roce.Rate for programs; rates in bit/s.
type rate struct {
	QueuePair float64 `json:"bits_per_sec"` // 0: not paced
	Target    float64 `json:"target_bits_per_sec"`
	Line      float64 `json:"line_bits_per_sec"` // 0: unknown
	Alpha     float64 `json:"alpha"`
	Window    int     `json:"window_packets"`
}

func rateOf(r *roce.Rate) *rate {
	if r == nil {
		return nil
	}
	return &rate{r.BitsPerSec, r.Target, r.Line, r.Alpha, r.Packets}
}
