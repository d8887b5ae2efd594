package rc_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// modelHistory is everything that decides a run of the model: what was drawn.
type modelHistory struct {
	mtu, conns           int
	psn                  [2]bth.PSN // the first of side A, of side B
	depth, recvDepth     int
	initiator, responder int // READs and atomics: asked for at once, taken at once
	timeout, retry       uint8
	rnrTimer, rnrRetry   uint8
	shared, credits      [2]bool // by side: receives of its connections are shared; it counts them for the peer
	goBackN              [2]bool
	pool                 [2]int // bytes of packets behind a gap that a side holds
	batch                int    // packets that a side takes before it answers
	rates                modelRates
	steps                []modelStep
}

// modelRates are the faults by probability, per 1,000 packets.
type modelRates struct {
	seed uint64
	of   [numModelFaults]int
}

// modelStep is one thing that happens. What a field means depends on the kind.
type modelStep struct {
	kind       modelKind
	conn, side int
	n          int // receives; nth packet; microseconds; where in the peer's memory

	op           qp.Op
	flags        qp.Flags
	mtus, excess int // length: so many path MTUs and bytes
	pieces       int // of the local buffer
	bad          modelBadness
	window       bool // through the peer's window, if it has one

	fault modelFault
	class modelClass
}

type modelKind uint8

const (
	modelPost   modelKind = iota
	modelRecv             // posts receives
	modelRun              // lets time pass
	modelPlan             // plans a fault of one packet
	modelDrain            // to SQD
	modelResume           // back to RTS, if drained
	modelFail             // to ERR
	modelReset            // both ends to RESET, and connects them anew
)

// modelBadness is what is wrong with a request.
type modelBadness uint8

const (
	modelGood modelBadness = iota
	modelBadKey
	modelBadRange
	modelBadAlignment
	modelBadLocalKey
)

// modelClass is a kind of packets.
type modelClass uint8

const (
	modelAnyPacket modelClass = iota
	modelRequest
	modelAck
	modelReadData
)

var (
	modelOps = []qp.Op{
		qp.OpSend, qp.OpWrite, qp.OpRead, qp.OpFetchAdd, qp.OpCompareSwap, qp.OpSendImm, qp.OpWriteImm,
		qp.OpSendInv, qp.OpSendInv, qp.OpBindMW, qp.OpLocalInv, qp.OpLocalInv,
	}
	// Most steps post; few end the connection.
	modelKinds = slices.Concat(
		slices.Repeat([]modelKind{modelPost}, 40), slices.Repeat([]modelKind{modelRecv}, 10), slices.Repeat([]modelKind{modelRun}, 12),
		slices.Repeat([]modelKind{modelPlan}, 6), slices.Repeat([]modelKind{modelDrain, modelResume}, 2), []modelKind{modelFail, modelReset, modelReset},
	)
	modelBads   = append(make([]modelBadness, 150), modelBadKey, modelBadRange, modelBadAlignment, modelBadLocalKey)
	modelPSNs   = []bth.PSN{0, 1, 100, 0x7fffff, 0x800000, 0xfffff0, 0xfffffd, 0xfffffe, 0xffffff}
	modelPauses = []int{0, 1, 2, 3, 10, 100, 1000, 20_000}
)

var (
	drawModelKind   = rapid.SampledFrom(modelKinds)
	drawModelOp     = rapid.SampledFrom(modelOps)
	drawModelPause  = rapid.SampledFrom(modelPauses)
	drawModelPSN    = rapid.SampledFrom(modelPSNs)
	drawModelFlags  = rapid.SampledFrom([]qp.Flags{qp.Signaled, qp.Signaled, 0, qp.Signaled | qp.Fence, qp.Signaled | qp.Inline, qp.Signaled | qp.Solicited, qp.Fence, qp.Inline})
	drawModelFault  = rapid.IntRange(0, int(numModelFaults)-1)
	drawModelBad    = rapid.SampledFrom(modelBads)
	drawModelSmall  = rapid.IntRange(0, 7)
	drawModelOff    = rapid.IntRange(0, 40)
	drawModelPieces = rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4})
	drawModelRate   = rapid.SampledFrom([]int{0, 0, 0, 0, 10, 20, 50, 100})
	// Lists of lists, for the lists that rapid draws are short.
	drawModelSteps  = rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawModelStep), 1, 30), 1, 30)
	drawModelExcess = rapid.IntRange(-1, 5)
)

func drawModelStep(t *rapid.T) modelStep {
	s := modelStep{kind: drawModelKind.Draw(t, "kind"), conn: drawModelSmall.Draw(t, "conn")}
	s.side = s.conn & 1
	s.conn >>= 1
	switch s.kind {
	case modelPost:
		s.op, s.flags, s.bad = drawModelOp.Draw(t, "op"), drawModelFlags.Draw(t, "flags"), drawModelBad.Draw(t, "bad")
		s.n = drawModelOff.Draw(t, "offset")
		s.window = s.n&1 != 0
		if s.op.Atomic() || s.op.Local() {
			break
		}
		s.mtus, s.excess, s.pieces = drawModelSmall.Draw(t, "mtus"), drawModelExcess.Draw(t, "bytes"), drawModelPieces.Draw(t, "pieces")
	case modelRecv:
		s.n, s.mtus = drawModelSmall.Draw(t, "receives"), drawModelSmall.Draw(t, "size")
		s.pieces = drawModelPieces.Draw(t, "pieces")
	case modelRun:
		s.n = drawModelPause.Draw(t, "µs")
	case modelPlan:
		s.n, s.fault, s.class = drawModelSmall.Draw(t, "nth"), modelFault(drawModelFault.Draw(t, "fault")), modelClass(drawModelSmall.Draw(t, "class")&3)
	case modelReset:
		s.n = int(drawModelPSN.Draw(t, "psn"))
	}
	return s
}

func drawModelHistory(t *rapid.T) *modelHistory {
	pick := func(label string, of ...int) int { return rapid.SampledFrom(of).Draw(t, label) }
	both := func(label string) [2]bool { n := pick(label, 0, 0, 1, 2, 3); return [2]bool{n&1 != 0, n&2 != 0} }
	h := &modelHistory{
		mtu: pick("mtu", 256, 256, 512, 1024, 2048, 4096), conns: pick("connections", 1, 1, 2, 3),
		psn:   [2]bth.PSN{drawModelPSN.Draw(t, "psn A"), drawModelPSN.Draw(t, "psn B")},
		depth: pick("depth", 1, 2, 3, 8, 16), recvDepth: pick("receive depth", 1, 2, 8),
		initiator: pick("initiator", 1, 1, 1, 1, 2, 2, 3, 4, 5, 8, 16, 16, 16, 16, 0), responder: pick("more responder", 0, 0, 1, 7),
		timeout: uint8(pick("timeout", 8, 8, 10, 14)), retry: uint8(pick("retry", 7, 7, 7, 7, 7, 7, 0, 1, 2, 6)),
		rnrTimer: uint8(pick("rnr timer", 1, 1, 2, 10, 14, 0, 31)), rnrRetry: uint8(pick("rnr retry", 7, 7, 7, 7, 7, 7, 0, 1, 6)),
		shared: both("shared"), credits: both("credits"), batch: pick("batch", 1, 1, 2, 5, 64),
	}
	h.goBackN = both("go back N")
	for side := range h.pool {
		h.pool[side] = pick("pool", 1<<20, 1<<20, 0, 1<<13)
	}
	h.responder += h.initiator
	if pick("faults", 0, 0, 1) != 0 {
		h.rates.seed = rapid.Uint64().Draw(t, "seed")
		for i := range h.rates.of {
			h.rates.of[i] = drawModelRate.Draw(t, "rate")
		}
	}
	h.steps = slices.Concat(drawModelSteps.Draw(t, "steps")...)
	return h
}

// String tells what was drawn, for a reader.
func (h *modelHistory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d connections, path MTU %d, first PSNs A %d, B %d, depth %d, receives %d, READs %d of %d, timeout %d, retry %d, RNR timer %d, RNR retry %d",
		h.conns, h.mtu, h.psn[0], h.psn[1], h.depth, h.recvDepth, h.initiator, h.responder, h.timeout, h.retry, h.rnrTimer, h.rnrRetry)
	for side, name := range modelNames {
		if h.shared[side] {
			fmt.Fprintf(&b, ", %s shares receives", name)
		}
		if h.credits[side] {
			fmt.Fprintf(&b, ", %s counts credits", name)
		}
		if h.goBackN[side] {
			fmt.Fprintf(&b, ", %s goes back N", name)
		}
		fmt.Fprintf(&b, ", %s holds %d bytes", name, h.pool[side])
	}
	fmt.Fprintf(&b, ", answers every %d packets", h.batch)
	for f, n := range h.rates.of {
		if n != 0 {
			fmt.Fprintf(&b, ", %s %d in 1000", modelFault(f), n)
		}
	}
	return b.String()
}
