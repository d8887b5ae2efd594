// Package devices tells what this machine's network interfaces offer as RDMA devices:
// their addresses as GIDs, the path MTUs that fit, and which links work on them, found
// out by opening each; for one that does not work, why and what to do. It is behind
// "roci devices".
//
// An AF_XDP link is not opened unless asked for with [Probe]: that gives the
// interface an XDP program and takes its queues, which makes some drivers reset it, and
// sends a frame.
package devices
