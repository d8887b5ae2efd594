package roce_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// TestPadOfEveryOperation proves W01: of every operation that carries data, of every length
// modulo 4, alone and behind full packets, only the last packet has a pad, of zeros, which the
// ICRC and the UDP length cover; both ends count what was meant, and no byte beside it changes.
func TestPadOfEveryOperation(t *testing.T) {
	for _, op := range []roce.Op{roce.OpSend, roce.OpSendImm, roce.OpSendInv, roce.OpWrite, roce.OpWriteImm, roce.OpRead} {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 32, 33, 34, 35, 36, 1023, 1024, 1025, 1026, 1027, 1028, 2048 + 33} {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) { requirePad(t, op, n) })
		}
	}
}

func requirePad(t *testing.T, op roce.Op, n int) {
	t.Helper()
	p := newPair(t, roce.WithPathMTU(1024))
	w, _ := p.bind(p.b, windowRights)
	for _, e := range []*end{p.a, p.b} { // what is no zero shows a pad taken from memory
		copy(e.mr.Bytes(), bytes.Repeat([]byte{0xff}, 8192))
	}
	data := 0
	p.world.OnFrame(func(e simnet.FrameEvent) {
		var pkt bth.Packet
		if e.Step != simnet.Sent {
			return
		}
		end := len(e.Frame) - wire.ICRCLen
		require.NoError(t, pkt.Parse(e.Frame[:end], nil))
		require.True(t, wire.VerifyICRC(e.Meta.Src, e.Meta.Dst, e.Meta.SrcPort, e.Meta.Flags, e.Meta.ID, [2][]byte{e.Frame}))
		require.Zero(t, end%4)
		require.Equal(t, make([]byte, pkt.Pad), e.Frame[end-int(pkt.Pad):end])
		require.Equal(t, uint8(-pkt.PayloadLen()&3), pkt.Pad)
		if !pkt.Opcode.Is(bth.Last) {
			require.Zero(t, pkt.Pad)
		}
		data += pkt.PayloadLen()
	})
	p.b.recv(1, 4096, 4096)
	r := p.b.mr.Remote()
	wr := roce.SendWR{Op: op, Flags: roce.Signaled, SGE: p.a.mr.SGE(0, n), RemoteAddr: r.Addr, RKey: r.Key}
	if op == roce.OpSendInv {
		wr.RKey = w.RKey()
	}
	p.a.send(wr)
	require.NoError(t, p.wait(p.a, 1)[0].Err())
	require.Equal(t, n, data)
	if op != roce.OpWrite && op != roce.OpRead {
		require.EqualValues(t, n, p.wait(p.b, 1)[0].ByteLen)
	}
	require.Equal(t, bytes.Repeat([]byte{0xff}, 8192), p.b.mr.Bytes()[:8192])
}
