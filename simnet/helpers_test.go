package simnet_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	µs    = clock.Time(time.Microsecond)
	ms    = clock.Time(time.Millisecond)
	qpnA  = 0x11
	qpnB  = 0x22
	limit = clock.Time(time.Second)
)

// pair makes a world with links a and b.
func pair(seed uint64, opts ...simnet.LinkOption) (w *simnet.World, a, b *simnet.Link) {
	w = simnet.New(seed)
	return w, w.Link("a", addrA, opts...), w.Link("b", addrB, opts...)
}

// pathTo is a resolved path between two links.
func pathTo(t *testing.T, from, to *simnet.Link) *wire.Path {
	p := &wire.Path{Src: from.Addrs()[0], Dst: to.Addrs()[0], SrcPort: 0xc123, TrafficClass: uint8(wire.ECT0)}
	require.NoError(t, from.Resolve(p))
	p.Prepare()
	return p
}

// injector sends any bytes from one link to the other.
func injector(from, to *simnet.Link) func([]byte) error {
	m := link.Meta{Src: from.Addrs()[0], Dst: to.Addrs()[0], SrcPort: 0xc123, IDKnown: true, Flags: wire.DontFragment}
	return func(payload []byte) error {
		from.Inject(m, payload)
		return nil
	}
}

// host is a device that sends packets at given times, answers those that ask for
// an acknowledgement, and writes down what it receives.
type host struct {
	q      link.Queue
	path   *wire.Path
	qpn    uint32 // of the peer
	plan   []shot // in the order of time
	owed   []shot // what waits for Room
	check  wire.Verifier
	heard  []string
	frames [][]string // of them, what came together
	times  []clock.Time
	rx     [8]link.Rx
}

// shot is a packet to be sent.
type shot struct {
	at      clock.Time
	packet  bth.Packet
	payload int // bytes
}

// join attaches a host for each of two links to their world.
func join(t *testing.T, w *simnet.World, a, b *simnet.Link) (ha, hb *host) {
	ha = &host{q: a.Queue(), path: pathTo(t, a, b), qpn: qpnB}
	hb = &host{q: b.Queue(), path: pathTo(t, b, a), qpn: qpnA}
	w.Attach(ha)
	w.Attach(hb)
	return ha, hb
}

// sends plans to send ten packets of 64 bytes, PSN 0 to 9, a microsecond apart.
// Even ones are SEND Only, odd ones SEND First.
func (h *host) sends() {
	for psn := range bth.PSN(10) {
		op := bth.RCSendOnly
		if psn%2 == 1 {
			op = bth.RCSendFirst
		}
		h.shoot(clock.Time(psn)*µs, op, psn)
	}
}

func (h *host) shoot(at clock.Time, op bth.Opcode, psn bth.PSN) {
	h.plan = append(h.plan, shot{at, bth.Packet{Opcode: op, PSN: psn, DestQP: h.qpn}, 64})
}

func (h *host) Poll() (worked bool) {
	n := h.q.Recv(h.rx[:])
	for i := range h.rx[:n] {
		h.hear(&h.rx[i])
	}
	h.q.Release()
	for len(h.plan) > 0 && h.plan[0].at <= h.q.Now() {
		h.owed = append(h.owed, h.plan[0])
		h.plan = h.plan[1:]
	}
	for len(h.owed) > 0 && h.q.Room() > 0 {
		h.send(h.owed[0].packet, make([]byte, h.owed[0].payload))
		h.owed = h.owed[1:]
		n++
	}
	h.q.Flush()
	return n > 0
}

func (h *host) NextDeadline() clock.Time {
	if len(h.plan) == 0 {
		return clock.Never
	}
	return h.plan[0].at
}

func (h *host) send(p bth.Packet, payload []byte) {
	var s link.Slot
	h.q.Reserve(h.path, p.Opcode.HeaderLen(), [][]byte{payload}, int(p.Pad), false, &s)
	p.PutHeaders(s.Head)
	h.path.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
}

// hear writes down a frame.
func (h *host) hear(rx *link.Rx) {
	first := len(h.heard)
	for i, p := range packetsOf(rx) {
		h.hearPacket(p, i, &rx.Meta)
	}
	h.frames = append(h.frames, h.heard[first:])
}

// hearPacket writes down a packet: its PSN, "!" if its ICRC is bad, "*" if it is
// marked.
func (h *host) hearPacket(packet [2][]byte, index int, m *link.Meta) {
	var p bth.Packet
	if p.ParseBTH(packet[0]) != nil {
		h.heard = append(h.heard, "?")
		return
	}
	note := fmt.Sprint(p.PSN)
	bad := h.verify(packet, index, m) == wire.ICRCBad
	if bad {
		note += "!"
	}
	if m.ECN == uint8(wire.CE) {
		note += "*"
	}
	h.heard, h.times = append(h.heard, note), append(h.times, h.q.Now())
	if p.AckReq && !bad {
		answer := bth.Packet{Opcode: bth.RCAcknowledge, PSN: p.PSN, DestQP: h.qpn}
		h.owed = append(h.owed, shot{packet: answer})
	}
}

func (h *host) verify(packet [2][]byte, index int, m *link.Meta) wire.ICRC {
	if m.IDKnown {
		return h.check.Verify(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID+uint16(index), packet)
	}
	return h.check.Infer(m.Src, m.Dst, m.SrcPort, index, packet)
}

// packetsOf cuts a frame into its packets.
func packetsOf(rx *link.Rx) (packets [][2][]byte) {
	first := len(rx.Frag[0])
	total := first + len(rx.Frag[1])
	seg := cmp.Or(rx.Seg, total)
	for from := 0; from < total; from += seg {
		to := min(from+seg, total)
		switch {
		case to <= first:
			packets = append(packets, [2][]byte{rx.Frag[0][from:to]})
		case from >= first:
			packets = append(packets, [2][]byte{rx.Frag[1][from-first : to-first]})
		default:
			packets = append(packets, [2][]byte{rx.Frag[0][from:], rx.Frag[1][:to-first]})
		}
	}
	return packets
}

// list is what the host has heard, in order.
func (h *host) list() string { return strings.Join(h.heard, " ") }
