package roce_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
)

var pathMTUs = []int{256, 512, 1024, 2048, 4096}

// headersAround is what of a link MTU is not payload: see link.PathMTU.
const headersAround = 96

// E09: the path MTU counts payload only. It fits a link MTU that leaves room for all
// headers, and with a byte less it is refused, and the error has the MTU that is needed.
func TestPathMTUNeedsALinkMTU(t *testing.T) {
	for _, mtu := range pathMTUs {
		for short := range 2 {
			w := simnet.New(1)
			linkMTU := mtu + headersAround - short
			dev, err := roce.Open(w.Link("a", netip.MustParseAddr("10.0.0.1"), simnet.MTU(linkMTU)), roce.Manual())
			needed := fmt.Sprintf("a link MTU of %d bytes is needed, it has %d", mtu+headersAround, linkMTU)
			if short > 0 && mtu == pathMTUs[0] { // it is open to no path MTU
				require.ErrorContains(t, err, "MTU of 351 bytes")
				continue
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, dev.Close()) })
			w.Link("b", netip.MustParseAddr("10.0.0.2"))
			pd, err := dev.AllocPD()
			require.NoError(t, err)
			cq, err := dev.CreateCQ(8)
			require.NoError(t, err)
			qp, err := pd.CreateQP(roce.QPConfig{SendCQ: cq})
			require.NoError(t, err)
			peer := roce.Info{GID: netip.MustParseAddr("10.0.0.2"), QPN: 2, MTU: 4096, RdAtomic: 1}
			err = qp.Connect(peer, roce.WithPathMTU(mtu))
			if short > 0 {
				require.ErrorContains(t, err, needed)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, mtu, dev.Port().ActiveMTU)
		}
	}
}

// syndromes records the acknowledgements that a device sends.
type syndromes struct{ sent []bth.Syndrome }

func (s *syndromes) Packet(e *trace.Event) {
	var p bth.Packet
	frame := slices.Concat(e.Frame...)
	if e.Dir == trace.Out && p.Parse(frame[:len(frame)-4], nil) == nil && p.Opcode.Is(bth.HasAETH) {
		s.sent = append(s.sent, p.AETH.Syndrome)
	}
}

// mismatched is a pair whose ends were told different path MTUs. acks are b's.
func mismatched(t *testing.T, mtuA, mtuB int) (p *pair, acks *syndromes) {
	t.Helper()
	w := simnet.New(1)
	acks = &syndromes{}
	newEnd := func(name, addr string, opts ...roce.Option) *end {
		l := w.Link(name, netip.MustParseAddr(addr), simnet.MTU(9000))
		return newEndOn(t, w, l, roce.QPConfig{}, opts...)
	}
	p = &pair{t: t, world: w, a: newEnd("a", "10.0.0.1"), b: newEnd("b", "10.0.0.2", roce.WithTap(acks))}
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), roce.WithPathMTU(mtuA)))
	require.NoError(t, p.b.qp.Connect(p.a.qp.Info(), roce.WithPathMTU(mtuB)))
	return p, acks
}

// E09: the ends use different path MTUs. What fits a packet of either passes; the first
// longer message is refused as an invalid request (0x61), and a READ is failed by its
// requester, at once and by the rule of lengths: nobody waits for retries to run out.
func TestPathMTUMismatch(t *testing.T) {
	for _, mtus := range [][2]int{{2048, 1024}, {1024, 2048}, {4096, 256}, {256, 4096}} {
		for _, op := range []roce.Op{roce.OpSend, roce.OpWrite, roce.OpRead} {
			t.Run(fmt.Sprintf("%d to %d, %v", mtus[0], mtus[1], op), func(t *testing.T) {
				p, acks := mismatched(t, mtus[0], mtus[1])
				both, more := min(mtus[0], mtus[1]), max(mtus[0], mtus[1])+1
				r := p.b.mr.Remote()
				request := func(n int) roce.SendWR {
					return roce.SendWR{Op: op, SGE: p.a.mr.SGE(0, n), Flags: roce.Signaled, RemoteAddr: r.Addr, RKey: r.Key}
				}
				p.b.recv(1, 0, bufferSize)
				p.b.recv(2, 0, bufferSize)
				p.a.send(request(both))
				require.Equal(t, roce.StatusSuccess, p.wait(p.a, 1)[0].Status)

				acks.sent = nil
				p.a.send(request(more))
				wc := p.wait(p.a, 1)[0]
				require.Zero(t, p.a.qp.Stats().Retransmitted)
				require.Equal(t, roce.StateErr, p.a.qp.State())
				if op == roce.OpRead {
					require.Equal(t, roce.StatusBadResponse, wc.Status)
					return
				}
				require.Equal(t, roce.StatusRemoteInvalid, wc.Status)
				require.Equal(t, []bth.Syndrome{bth.NAKInvalidRequest}, acks.sent)
				require.EqualValues(t, 0x61, bth.NAKInvalidRequest)
				var theirs *roce.QPError
				require.ErrorAs(t, p.b.qp.Err(), &theirs)
				require.Equal(t, transport.RuleLength, theirs.Rule, theirs.Error())
			})
		}
	}
}
