package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// C19: the longest message is what the device says, 2^31 bytes, for every operation: one byte
// more is refused while posting, by an error that names field and limit. The memory
// of a message that long is not needed for that.
func TestLongestMessageIsTheAdvertisedOne(t *testing.T) {
	p := newPair(t)
	most := p.a.dev.Attr().MaxMessage
	require.Equal(t, uint32(1<<31), most)
	for _, op := range []roce.Op{roce.OpSend, roce.OpSendImm, roce.OpSendInv, roce.OpWrite, roce.OpWriteImm, roce.OpRead} {
		p := newPair(t)
		_, err := p.a.qp.PostSend(roce.SendWR{Op: op, SGE: roce.SGE{Addr: 1, Len: most + 1}})
		var wrong *roce.WRError
		require.ErrorAs(t, err, &wrong, "%s", op)
		require.ErrorContains(t, err, "2147483648", "%s", op)
		_, err = p.a.qp.PostSend(roce.SendWR{Op: op, SGL: []roce.SGE{{Addr: 1, Len: most}, {Addr: 1, Len: 1}}})
		require.ErrorAs(t, err, &wrong, "%s", op)
		_, err = p.a.qp.PostSend(roce.SendWR{Op: op, SGE: roce.SGE{Addr: 1, Len: most}})
		require.NoError(t, err, "%s", op)
	}
}
