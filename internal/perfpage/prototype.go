package perfpage

import (
	"fmt"
	"strings"
)

// reached is a number of the prototype that the page describes, beside the benchmark
// that does the like with the whole stack.
type reached struct {
	label, bench, unit string
	prototype          spread // measured once, on 2026-11-29
}

// prototype has the plain sends and receives for latency, and for bandwidth
// super-frames where there are any, as the links do.
var prototype = []reached{
	{"`udp`, MB/s at 1024", "Links/WRITE/1024/udp", "MB/s", spread{1393, 904, 1899}},
	{"`raw`, MB/s at 1024", "Links/WRITE/1024/raw", "MB/s", spread{1286, 1270, 1671}},
	{"`xdp`, MB/s at 1024", "Links/WRITE/1024/xdp", "MB/s", spread{375, 374, 447}},
	{"`udp`, MB/s at 4096", "Links/WRITE/4096/udp", "MB/s", spread{2665, 1811, 2892}},
	{"`raw`, MB/s at 4096", "Links/WRITE/4096/raw", "MB/s", spread{2066, 2040, 2260}},
	{"`xdp`, MB/s at 4096", "Links/WRITE/4096/xdp", "MB/s", spread{826, 587, 853}},
	{"`udp`, p50, µs", "Links/SEND/poll/udp", "p50-us", spread{3.83, 3.73, 6.09}},
	{"`raw`, p50, µs", "Links/SEND/poll/raw", "p50-us", spread{6.82, 4.83, 7.15}},
	{"`xdp`, p50, µs", "Links/SEND/poll/xdp", "p50-us", spread{2.32, 2.29, 3.77}},
	{"`udp`, p99, µs", "Links/SEND/poll/udp", "p99-us", spread{7.0, 6.5, 15.8}},
	{"`raw`, p99, µs", "Links/SEND/poll/raw", "p99-us", spread{13.3, 10.0, 18.0}},
	{"`xdp`, p99, µs", "Links/SEND/poll/xdp", "p99-us", spread{3.9, 3.2, 6.1}},
}

// besidePrototype writes the table of the prototype's numbers and ours as Markdown.
// The ratios are to the prototype's medians: it was measured in other rounds.
func (w *writer) besidePrototype() (string, error) {
	lines := []string{"| | prototype | this stack | × prototype |", "|---|---:|---:|---:|"}
	for _, p := range prototype {
		values, err := w.results.values(p.bench, p.unit)
		if err != nil {
			return "", err
		}
		ours := spreadOf(values)
		lines = append(lines, fmt.Sprintf("| %s | %v | %v | %v |", p.label, p.prototype, ours, ours.over(p.prototype.median)))
	}
	return strings.Join(lines, "\n"), nil
}
