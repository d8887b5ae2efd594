package perfpage

// Tables of what is measured over veth pairs, which takes network namespaces.

var linkLatency = table{
	subject: "64 bytes, one way",
	columns: latency.columns,
	rows: []row{
		{"`udp`, both ends spin in `CQ.Poll`", "Links/SEND/poll/udp", "Links/UDP/poll"},
		{"`raw`, both ends spin", "Links/SEND/poll/raw", "Links/UDP/poll"},
		{"`xdp`, both ends spin", "Links/SEND/poll/xdp", "Links/UDP/poll"},
		{"UDP sockets, both ends spin", "Links/UDP/poll", ""},
		{"`udp`, both ends sleep in `CQ.Wait`", "Links/SEND/wait/udp", "Links/UDP/wait"},
		{"`raw`, both ends sleep", "Links/SEND/wait/raw", "Links/UDP/wait"},
		{"`xdp`, both ends sleep", "Links/SEND/wait/xdp", "Links/UDP/wait"},
		{"`net.UDPConn`", "Links/UDP/wait", ""},
	},
}

var linkBandwidth = table{
	subject: "WRITE of 64 KiB, 16 under way",
	columns: bandwidth.columns,
	rows: []row{
		{"`udp`, path MTU 1024", "Links/WRITE/1024/udp", "Links/TCP/64KiB"},
		{"`raw`, path MTU 1024", "Links/WRITE/1024/raw", "Links/TCP/64KiB"},
		{"`xdp`, path MTU 1024", "Links/WRITE/1024/xdp", "Links/TCP/64KiB"},
		{"`udp`, path MTU 4096", "Links/WRITE/4096/udp", "Links/TCP/64KiB"},
		{"`raw`, path MTU 4096", "Links/WRITE/4096/raw", "Links/TCP/64KiB"},
		{"`xdp`, path MTU 4096", "Links/WRITE/4096/xdp", "Links/TCP/64KiB"},
		{"`net.TCPConn`, 64 KiB a call", "Links/TCP/64KiB", ""},
	},
}

var framePingPong = table{
	subject: "one packet, one way",
	columns: latency.columns,
	rows: []row{
		{"ours, 64 bytes", "PingPong/ours/64", "PingPong/asavie/64"},
		{"asavie/xdp, 64 bytes", "PingPong/asavie/64", ""},
		{"ours, 1024 bytes", "PingPong/ours/1024", "PingPong/asavie/1024"},
		{"asavie/xdp, 1024 bytes", "PingPong/asavie/1024", ""},
		{"ours, 2048 bytes", "PingPong/ours/2048", "PingPong/asavie/2048"},
		{"asavie/xdp, 2048 bytes", "PingPong/asavie/2048", ""},
	},
}

var frameCost = table{
	subject: "one direction, 32 packets at once",
	columns: []column{{"ns per packet", "ns/op"}},
	rows: []row{
		{"ours, 64 bytes", "OneWay/ours/64", "OneWay/asavie/64"},
		{"asavie/xdp, 64 bytes", "OneWay/asavie/64", ""},
		{"ours, 1024 bytes", "OneWay/ours/1024", "OneWay/asavie/1024"},
		{"asavie/xdp, 1024 bytes", "OneWay/asavie/1024", ""},
		{"ours, 2048 bytes", "OneWay/ours/2048", "OneWay/asavie/2048"},
		{"asavie/xdp, 2048 bytes", "OneWay/asavie/2048", ""},
	},
}

// linkTables are by their names in page.md.
var linkTables = map[string]table{
	"link latency": linkLatency, "link bandwidth": linkBandwidth,
	"frame ping-pong": framePingPong, "frame cost": frameCost,
}
