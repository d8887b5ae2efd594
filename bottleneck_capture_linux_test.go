package roce_test

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/trace/decode"
	"github.com/rocinante-rdma/roce/wire"
)

// cnpTap notes when a device sent its CNPs, by the queue pairs that they went to.
type cnpTap struct {
	mu   sync.Mutex
	sent map[uint32][]clock.Time
}

// Packet implements trace.Tap.
func (c *cnpTap) Packet(e *trace.Event) {
	var p bth.Packet
	if e.Dir != trace.Out || p.ParseBTH(e.Frame[0]) != nil || p.Opcode != bth.CNP {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[uint32][]clock.Time{}
	}
	c.sent[p.DestQP] = append(c.sent[p.DestQP], e.Time)
}

// cnpInterval is the shortest time between two CNPs of a flow.
const cnpInterval = 50 * time.Microsecond

// requireSpacing proves by the receiver's own clock that no flow's CNPs were nearer to
// each other than the interval.
func (j *jam) requireSpacing() {
	j.notified.mu.Lock()
	defer j.notified.mu.Unlock()
	total := 0
	for _, f := range j.flows {
		sent := j.notified.sent[f.source.qp.QPN()]
		for i := range sent[min(1, len(sent)):] {
			require.GreaterOrEqual(j, sent[i+1].Sub(sent[i]), cnpInterval)
		}
		total += len(sent)
	}
	require.EqualValues(j, j.receiver.Counters()[roce.CounterNPCNPSent], total)
}

// dissected is what tshark says of a packet.
type dissected struct {
	opcode   bth.Opcode
	destQP   uint64
	psn      uint64
	src, dst netip.Addr
	class    uint8
}

// dissect has tshark read the capture.
func (j *jam) dissect() (packets []dissected) {
	j.Helper()
	addr, class := "ip", "ip.dsfield"
	if j.v6 {
		addr, class = "ipv6", "ipv6.tclass"
	}
	fields := []string{"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", addr + ".src", addr + ".dst", class}
	args := []string{"-r", j.capture, "-Y", "infiniband", "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var stderr bytes.Buffer
	c := exec.CommandContext(j.Context(), "tshark", args...)
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(j, err, "tshark: %s", &stderr)
	number := func(s string, bits int) uint64 {
		n, err := strconv.ParseUint(s, 0, bits)
		require.NoError(j, err, "tshark's %q", s)
		return n
	}
	for line := range strings.Lines(string(out)) {
		v := strings.Split(strings.TrimRight(line, "\n"), "\t")
		require.Len(j, v, len(fields))
		packets = append(packets, dissected{
			opcode: bth.Opcode(number(v[0], 8)), destQP: number(v[1], 24), psn: number(v[2], 24),
			src: netip.MustParseAddr(v[3]), dst: netip.MustParseAddr(v[4]), class: uint8(number(v[5], 8)),
		})
	}
	return packets
}

// requireCapture proves by another's eyes what was on the wire: as many marks and CNPs as
// were counted; CNPs that are none's but the receiver's, to the senders' queue pairs; and
// ECT on data alone, the DSCP being the application's.
func (j *jam) requireCapture() {
	var marks, cnps uint64
	for _, p := range j.dissect() {
		ecn, dscp := wire.ECNOf(p.class), p.class&^3
		switch {
		case p.opcode == bth.CNP:
			cnps++
			j.requireCNP(p)
		case p.opcode == bth.RCAcknowledge || !j.dcqcn && p.src != j.addr(j.Receiver):
			require.Equal(j, wire.NotECT, ecn, "%+v", p)
			require.EqualValues(j, flowClass, dscp, "%+v", p)
		default:
			require.Contains(j, []wire.ECN{wire.ECT0, wire.CE}, ecn, "%+v", p)
			require.EqualValues(j, flowClass, dscp, "%+v", p)
			if ecn == wire.CE {
				marks++
			}
		}
	}
	require.Equal(j, j.Counts().Marked, marks)
	require.Equal(j, j.receiver.Counters()[roce.CounterNPCNPSent]+j.forged(), cnps)
	require.Equal(j, cnps, j.sealedCNPs(), "CNPs whose ICRC is right")
}

// requireCNP proves that a CNP is one: IBTA annex A17, and a DSCP of its own.
func (j *jam) requireCNP(p dissected) {
	require.Zero(j, p.psn)
	require.EqualValues(j, 48<<2, p.class)
	require.Equal(j, j.addr(j.Receiver), p.src)
	for _, f := range j.flows {
		if p.dst == j.addr(f.from) {
			require.EqualValues(j, f.source.qp.QPN(), p.destQP)
			return
		}
	}
	j.Errorf("a CNP went to nobody who sends: %+v", p)
}

// sealedCNPs is how many CNPs of the capture have the right ICRC.
func (j *jam) sealedCNPs() (n uint64) {
	j.Helper()
	r, err := decode.Open(j.capture)
	require.NoError(j, err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(j, err)
		if p := decode.Decode(&rec); p != nil && p.BTH.Opcode == bth.CNP && p.ICRC == decode.ICRCGood {
			n++
		}
	}
}
