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

// C19: over the smallest path MTU a READ of 2^31 bytes would take half of all PSNs, and old
// answers could not be told from new ones: it fails before anything is sent. Over the
// next larger its length is no fault.
func TestLongestRead(t *testing.T) {
	for mtu, want := range map[int]roce.Status{256: roce.StatusLocalLength, 512: roce.StatusLocalProtection} {
		p := newPair(t, roce.WithPathMTU(mtu))
		p.a.send(roce.SendWR{Op: roce.OpRead, SGE: roce.SGE{Addr: 1, Len: p.a.dev.Attr().MaxMessage}})
		wc := p.wait(p.a, 1)[0]
		require.Equal(t, want, wc.Status, "path MTU %d: the length is looked at before the memory, of which there is none", mtu)
		require.Zero(t, p.a.qp.Stats().PacketsSent)
		if mtu == 256 {
			require.ErrorContains(t, p.a.cq.Err(&wc), "nor a READ over path MTU 256 than 2^31 - 256")
		}
	}
}
