package perfpage

import "maps"

// A table compares benchmarks by one or more of their values.
type table struct {
	subject string // head of the first column
	columns []column
	rows    []row
	alone   bool // there is nothing to compare with
}

// column is one value of the benchmarks.
type column struct {
	head, unit string
}

// row is a benchmark. It is compared with the one named as its baseline; a baseline
// has none.
type row struct {
	label, bench, baseline string
}

var latency = table{
	subject: "64 bytes, one way",
	columns: []column{{"p50, µs", "p50-us"}, {"p99, µs", "p99-us"}},
	rows: []row{
		{"SEND, both ends spin in `CQ.Poll`", "Latency/SEND/poll", "Latency/UDP/poll"},
		{"UDP sockets, both ends spin", "Latency/UDP/poll", ""},
		{"SEND, both ends sleep in `CQ.Wait`", "Latency/SEND/wait", "Latency/UDP/wait"},
		{"`net.UDPConn`", "Latency/UDP/wait", ""},
	},
}

var bandwidth = table{
	subject: "one direction",
	columns: []column{{"MB/s", "MB/s"}},
	rows: []row{
		{"WRITE of 64 KiB, 16 under way", "Bandwidth/WRITE/64KiB", "Bandwidth/TCP/64KiB"},
		{"READ of 64 KiB, 16 under way", "Bandwidth/READ/64KiB", "Bandwidth/TCP/64KiB"},
		{"`net.TCPConn`, 64 KiB a call", "Bandwidth/TCP/64KiB", ""},
		{"WRITE of 1 MiB, 16 under way", "Bandwidth/WRITE/1MiB", "Bandwidth/TCP/1MiB"},
		{"READ of 1 MiB, 16 under way", "Bandwidth/READ/1MiB", "Bandwidth/TCP/1MiB"},
		{"`net.TCPConn`, 1 MiB a call", "Bandwidth/TCP/1MiB", ""},
	},
}

var datagrams = table{
	subject: "one direction, payload of 4 KiB a packet",
	columns: []column{{"MB/s", "MB/s"}},
	rows: []row{
		{"WRITE of 64 KiB, 16 under way", "Bandwidth/WRITE/64KiB", "Bandwidth/UDP/4KiB"},
		{"WRITE of 1 MiB, 16 under way", "Bandwidth/WRITE/1MiB", "Bandwidth/UDP/4KiB"},
		{"`net.UDPConn`, what arrives", "Bandwidth/UDP/4KiB", ""},
	},
}

var rate = table{
	subject: "small messages",
	columns: []column{{"messages/s", "msg/s"}},
	rows: []row{
		{"WRITE of 64 bytes, posted in lists of 32", "Rate/WRITE/64B", "Rate/UDP/64B"},
		{"`net.UDPConn`, one direction, what arrives", "Rate/UDP/64B", ""},
		{"FETCH AND ADD, 16 under way", "Rate/FetchAdd/8B", "Rate/UDP/echo"},
		{"`net.UDPConn`, there and back, 16 under way", "Rate/UDP/echo", ""},
	},
}

var engine = table{
	subject: "64 bytes",
	columns: []column{{"ns per message", "ns/message"}},
	rows: []row{
		{"SEND, one at a time", "Engine/SEND/1", "Engine/network/1"},
		{"the simulated network alone", "Engine/network/1", ""},
		{"SEND, posted in lists of 32", "Engine/SEND/32", "Engine/network/32"},
		{"the simulated network alone, 32 at once", "Engine/network/32", ""},
	},
}

var pacing = table{
	subject: "WRITE of 64 KiB, path MTU 4096",
	columns: []column{
		{"reached, %", "rate-%"}, {"10 ms miss, %", "miss-%"}, {"in 50 µs, bytes", "burst-B"}, {"longest gap, µs", "gap-µs"},
		{"idle loop's gap, µs", "spin-gap-µs"}, {"idle loop lost, %", "spin-lost-%"},
	},
	rows:  []row{{"100 Mb/s", "Pacing/100Mbps", ""}, {"1 Gb/s", "Pacing/1Gbps", ""}, {"5 Gb/s", "Pacing/5Gbps", ""}},
	alone: true,
}

var dcqcn = table{
	subject: "WRITE of 16 packets",
	columns: []column{{"ns per packet", "ns/packet"}},
	rows: []row{
		{"DCQCN at line rate", "DCQCN/line", "DCQCN/off"},
		{"DCQCN, paced", "DCQCN/paced", "DCQCN/off"},
		{"no DCQCN", "DCQCN/off", ""},
	},
}

// loopbackTables are by their names in page.md.
var loopbackTables = map[string]table{
	"latency": latency, "bandwidth": bandwidth, "datagrams": datagrams, "rate": rate,
	"pacing": pacing, "engine": engine, "dcqcn": dcqcn,
}

// tables are those of all benchmarks that were to run.
func (r *Results) tables() map[string]table {
	all := maps.Clone(loopbackTables)
	if r.WithoutLinks() == "" {
		maps.Copy(all, linkTables)
	}
	return all
}
