// Package pingpong is the client and the server of the command roci pingpong. They
// speak the protocol of rdma-core's ibv_rc_pingpong and print its report, so that
// either end can be that tool.
//
// One run, in the order of the files: both ends take a local address (address.go),
// open a device on it and post receives (end.go), tell each other queue pair, PSN
// and GID over TCP (message.go, handshake.go), send a message to and fro, and look
// at what came back (loop.go, data.go), and report (report.go). run.go joins them.
package pingpong
