package udp

import "errors"

// ErrPortInUse is matched by the error of [Open] when another socket has the port:
// the kernel module rdma_rxe or another process.
var ErrPortInUse = errors.New("UDP port 4791 is in use")
