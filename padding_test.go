package roce_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// TestPadOnTheWire proves W01: payloads of every length modulo 4, of SEND, WRITE and
// READ data, are padded with zeros to four bytes, the ICRC covers the pad, the UDP
// length counts it, and the receiver's length does not.
func TestPadOnTheWire(t *testing.T) {
	for _, op := range []roce.Op{roce.OpSend, roce.OpWriteImm, roce.OpRead} {
		for _, n := range []int{32, 33, 34, 35, 36, 1, 0} {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) {
				p := newPair(t)
				data := bytes.Repeat([]byte{0xff}, n)
				copy(p.a.mr.Bytes(), data)
				copy(p.b.mr.Bytes(), data)
				seen := 0
				p.world.OnFrame(func(e simnet.FrameEvent) {
					if e.Step != simnet.Sent {
						return
					}
					require.True(t, wire.VerifyICRC(e.Meta.Src, e.Meta.Dst, e.Meta.SrcPort, e.Meta.Flags, e.Meta.ID, [2][]byte{e.Frame}))
					var pkt bth.Packet
					require.NoError(t, pkt.Parse(e.Frame[:len(e.Frame)-wire.ICRCLen], nil))
					if !pkt.Opcode.Is(bth.Payload) {
						return
					}
					seen++
					require.Equal(t, n, pkt.PayloadLen())
					require.Equal(t, uint8(-n&3), pkt.Pad)
					pad := e.Frame[len(e.Frame)-wire.ICRCLen-int(pkt.Pad) : len(e.Frame)-wire.ICRCLen]
					require.Equal(t, make([]byte, pkt.Pad), pad)
				})
				p.b.recv(1, 4096, 64)
				r := p.b.mr.Remote()
				p.a.send(roce.SendWR{Op: op, Flags: roce.Signaled, SGE: p.a.mr.SGE(0, n), RemoteAddr: r.Addr, RKey: r.Key})
				var wc [2]roce.WC
				require.NoError(t, p.world.RunUntil(func() bool { return p.a.cq.Poll(wc[:1]) == 1 }, clock.Time(time.Second)))
				require.NoError(t, wc[0].Err())
				if op != roce.OpRead {
					require.Equal(t, 1, p.b.cq.Poll(wc[1:]))
					require.Equal(t, uint32(n), wc[1].ByteLen)
				}
				require.Equal(t, 1, seen)
			})
		}
	}
}
