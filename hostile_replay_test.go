package roce_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/trace/decode"
	"github.com/rocinante-rdma/roce/transport"
)

// captured returns the packets of a capture, BTH to pad.
func captured(t testing.TB, name string) (packets []*decode.Packet) {
	t.Helper()
	r, err := decode.Open(name)
	require.NoError(t, err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets
		}
		require.NoError(t, err)
		if p := decode.Decode(&rec); p != nil && p.Err == nil {
			packets = append(packets, p)
		}
	}
}

// shift is what moves captured PSNs to those that count here: of requests to what the
// victim expects, of answers to what it has outstanding.
type shift struct {
	known bool
	by    uint32
}

func (h *shift) move(psn *bth.PSN, first bth.PSN) {
	if !h.known {
		h.known, h.by = true, uint32(first.Diff(*psn))
	}
	*psn = psn.Add(h.by)
}

// Conversations of other stacks, both directions of them, are played to the victim with
// its queue pair's number, the peer's address and a good ICRC, as they were captured and
// moved to PSNs that count. The memory that their keys do not name is not touched,
// everything has its rule, and the next connection is as good as new.
func TestReplayedCaptures(t *testing.T) {
	files, err := filepath.Glob("trace/decode/testdata/captures/*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	s := newSiege(t)
	const recvs, half = 8, bufferSize / 2
	fill(s.victim.mr.Bytes(), 5)
	memory := bytes.Clone(s.victim.mr.Bytes()[half:])
	played, failed, received := 0, 0, 0
	for _, name := range files {
		packets := captured(t, name)
		for _, moved := range []bool{false, true} {
			for i := range recvs {
				s.victim.recv(uint64(i), i*half/recvs, half/recvs)
				s.victim.send(roce.SendWR{Op: roce.OpWrite, SGE: s.victim.mr.SGE(half, 8), Flags: roce.Signaled})
			}
			s.settle()
			var asks, answers shift
			for _, p := range packets {
				h := p.BTH
				h.DestQP, h.PKey = s.victim.qp.QPN(), bth.DefaultPKey
				switch {
				case !moved:
				case h.Opcode.Is(bth.Response):
					answers.move(&h.PSN, s.firstPSN())
				default:
					asks.move(&h.PSN, enemyPSN)
				}
				s.sealed(s.enemy, enemyMeta(), &h).fire()
				_, err := s.world.Step()
				require.NoError(t, err)
				played++
			}
			s.business()
			s.deafen()
			require.Equal(t, memory, s.victim.mr.Bytes()[half:], name)
			if s.victim.qp.State() == roce.StateErr {
				failed++
			}
			var wcs [64]roce.WC
			for _, wc := range wcs[:s.victim.cq.Poll(wcs[:])] {
				if wc.Opcode == roce.WCRecv && wc.Status == roce.StatusSuccess {
					received++
				}
			}
			s.revive()
		}
	}
	decided := 0
	for rule, n := range s.tally.rules {
		decided += n
		if n > 0 {
			t.Logf("%5d %s", n, transport.Rule(rule))
		}
	}
	t.Logf("%d packets of %d captures; they ended %d of %d connections, and brought %d messages", played, len(files), failed, 2*len(files), received)
	require.Equal(t, played, decided)
	require.NotZero(t, received)
	for _, rule := range []transport.Rule{
		transport.RuleInOrder, transport.RuleDuplicateSend, transport.RuleGap, transport.RuleKey,
		transport.RuleAck, transport.RuleGhost, transport.RuleOldResponse, transport.RuleServiceType, transport.RuleState,
	} {
		require.NotZero(t, s.tally.rules[rule], "%s: never", rule)
	}
	s.unconcerned()
}
