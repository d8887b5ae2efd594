package qp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
)

// TestInlineAtItsLimit proves C23: every operation that sends data takes inline data up to the
// queue's limit, in one piece or several, and not one byte more; the error says what was
// given and what is allowed. The operations that bring data, or none, refuse the flag.
func TestInlineAtItsLimit(t *testing.T) {
	const limit = 64
	for op := qp.OpWrite; op <= qp.OpSendInv; op++ {
		sends := !op.Reads() && !op.Local()
		for n, fits := range map[uint32]bool{0: true, 1: true, limit - 1: true, limit: true, limit + 1: false, 1 << 20: false} {
			if op.Atomic() && n != 8 {
				n = 8
			}
			wr := qp.SendWR{Op: op, Flags: qp.Inline}
			switch {
			case op.Local():
				wr.Bind = new(mr.Binding)
			case n > 1 && sends:
				wr.SGL = []qp.SGE{piece(1), piece(n - 1)}
			case n > 0:
				wr.SGE = piece(n)
			}
			q := openSend(4, 2, limit)
			err := q.Post(&wr, memory{})
			if sends && fits {
				require.NoError(t, err, "%s of %d", op, n)
				require.Len(t, q.At(q.Head()).Inline, int(n))
				continue
			}
			var wrong *qp.WRError
			require.ErrorAs(t, err, &wrong, "%s of %d", op, n)
			if !sends {
				require.Contains(t, []string{"Flags", "Bind"}, wrong.Field, "%s", op)
			} else {
				require.ErrorContains(t, err, "64", "%s of %d", op, n)
			}
			require.Zero(t, q.Len())
		}
	}
}
