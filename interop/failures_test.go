//go:build linux

package interop

import "github.com/rocinante-rdma/roce"

// failures are all that is tried in one direction.
func failures(w way) (all []cell) {
	for _, r := range refusals(w) {
		all = append(all, r)
	}
	return append(all,
		tooLong{200, 100}, tooLong{4097, 100}, tooLong{4097, 1500},
		lateRecv{roce.OpSend, 100}, lateRecv{roce.OpSend, 4097}, lateRecv{roce.OpSendImm, 0},
		lateRecv{roce.OpWriteImm, 100}, lateRecv{roce.OpWriteImm, 4097},
		noRecv{roce.OpSend}, noRecv{roce.OpWriteImm},
		gone{roce.OpSend}, gone{roce.OpRead}, gone{roce.OpFetchAdd},
		silent{roce.OpSend}, silent{roce.OpFetchAdd},
	)
}
