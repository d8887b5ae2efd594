package roce_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// siege is a device under attack. The peer of its queue pair victim is an enemy without
// a stack: the test makes its packets. A bystander, a queue pair of the same device and
// PD, works with a friend meanwhile; nothing of the attack may concern the two. A
// stranger is nobody's peer.
type siege struct {
	t     testing.TB
	world *simnet.World
	tally *tally

	victim, bystander *end // of one device
	friend            *end
	enemy, stranger   *simnet.Link

	rx    [64]link.Rx
	quiet time.Duration // what the bystander's business takes without an attack
	busy  time.Duration // for how long the attack was on the host's wire
}

const (
	enemyQPN = 0x000e0e
	enemyPSN = bth.PSN(0xfffff0) // of its first request: the numbers wrap soon
	siegeMTU = 1024

	bytesPerNanosecond = 10.0 / 8 // of all wires
)

var (
	hostAddr     = netip.MustParseAddr("10.0.0.1")
	enemyAddr    = netip.MustParseAddr("10.0.0.2")
	friendAddr   = netip.MustParseAddr("10.0.0.3")
	strangerAddr = netip.MustParseAddr("10.0.0.9")
)

// tally counts, of all packets but those to and from the friend, what was received by the rule that
// decided and by what was done, and what was sent by its cause.
type tally struct {
	rules  [transport.NumRules]int
	done   [16]int // by transport.Action
	causes [transport.NumCauses]int
	sent   int
}

// Packet implements trace.Tap.
func (y *tally) Packet(e *trace.Event) {
	switch {
	case e.Src == friendAddr || e.Dst == friendAddr:
	case e.Dir == trace.In:
		y.rules[e.Verdict.Rule]++
		y.done[e.Verdict.Action]++
	default:
		y.causes[e.Cause]++
		y.sent++
	}
}

// newSiege connects victim and bystander. opts are the victim's.
func newSiege(t testing.TB, opts ...roce.ConnectOption) *siege {
	t.Helper()
	s := newPeace(t, roce.QPConfig{})
	s.connect(opts...)
	return s
}

// newPeace is a siege whose victim is not connected yet, made of cfg.
func newPeace(t testing.TB, cfg roce.QPConfig) *siege {
	t.Helper()
	s := &siege{t: t, world: simnet.New(1), tally: new(tally)}
	rate, jumbo := simnet.Bandwidth(bytesPerNanosecond*8e9), simnet.MTU(4200)
	s.victim = newEndOn(t, s.world, s.world.Link("host", hostAddr, rate, jumbo), cfg, roce.WithTap(s.tally))
	s.friend = newEndOn(t, s.world, s.world.Link("friend", friendAddr, rate), roce.QPConfig{})
	s.enemy = s.world.Link("enemy", enemyAddr, rate, jumbo)
	s.stranger = s.world.Link("stranger", strangerAddr, rate)
	s.bystander = s.victim.second(roce.QPConfig{})
	require.NoError(t, s.bystander.qp.Connect(s.friend.qp.Info()))
	require.NoError(t, s.friend.qp.Connect(s.bystander.qp.Info()))
	s.world.OnFrame(s.frameArrived)
	s.quiet = s.business()
	return s
}

// second is another queue pair of e's device and PD, with a CQ and a region of its own.
func (e *end) second(cfg roce.QPConfig) *end {
	e.t.Helper()
	o := &end{t: e.t, dev: e.dev, pd: e.pd}
	var err error
	o.cq, err = e.dev.CreateCQ(256)
	require.NoError(e.t, err)
	o.mr, err = e.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(e.t, err)
	cfg.SendCQ = o.cq
	o.qp, err = e.pd.CreateQP(cfg)
	require.NoError(e.t, err)
	return o
}

// connect connects the victim to the enemy.
func (s *siege) connect(opts ...roce.ConnectOption) {
	s.t.Helper()
	peer := roce.Info{GID: enemyAddr, QPN: enemyQPN, PSN: uint32(enemyPSN), MTU: siegeMTU, RdAtomic: 16}
	require.NoError(s.t, s.victim.qp.Connect(peer, opts...))
}

// revive connects the victim again after an attack that ended the connection.
func (s *siege) revive(opts ...roce.ConnectOption) {
	s.t.Helper()
	require.NoError(s.t, s.victim.qp.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
	s.connect(opts...)
}

// firstPSN is that of the victim's first request.
func (s *siege) firstPSN() bth.PSN { return bth.PSN(s.victim.qp.Info().PSN) }

// region names n bytes of the victim's region from an offset on, for a RETH.
func (s *siege) region(off, n int) bthtest.Option {
	r := s.victim.mr.RemoteAt(off, n)
	return bthtest.RETH(r.Addr, uint32(r.Key), r.Len)
}

// word names the victim's word at an offset, to add one to it.
func (s *siege) word(off int) bthtest.Option {
	r := s.victim.mr.RemoteAt(off, 8)
	return bthtest.Atomic(bth.AtomicETH{VA: r.Addr, RKey: uint32(r.Key), SwapAdd: 1})
}

// packet is one ready to be sent, by whoever it says.
type packet struct {
	from *simnet.Link
	meta link.Meta
	data []byte
}

// forged is a packet that claims to come from the enemy and goes to the victim.
func (s *siege) forged(op bth.Opcode, opts ...bthtest.Option) packet {
	p := bthtest.New(op, append([]bthtest.Option{bthtest.QP(s.victim.qp.QPN())}, opts...)...)
	return s.sealed(s.enemy, enemyMeta(), p)
}

// enemyMeta is what the victim sees around a packet of the enemy's.
func enemyMeta() link.Meta {
	return link.Meta{Src: enemyAddr, Dst: hostAddr, SrcPort: 0xc123, ID: 7, IDKnown: true, Flags: wire.DontFragment}
}

func (s *siege) sealed(from *simnet.Link, m link.Meta, p *bth.Packet) packet {
	data := append(bthtest.Encode(p), make([]byte, wire.ICRCLen)...)
	end := len(data) - wire.ICRCLen
	wire.MakeFlow(m.Src, m.Dst, m.SrcPort, m.Flags).
		Seal(m.ID, data[:bth.BTHLen], [][]byte{data[bth.BTHLen:end]}, data[end:])
	return packet{from, m, data}
}

// fire sends packets, all at this instant.
func (p packet) fire() { p.from.Inject(p.meta, p.data) }

func fire(packets ...packet) {
	for _, p := range packets {
		p.fire()
	}
}

// settle lets everything happen that happens within a millisecond.
func (s *siege) settle() {
	s.t.Helper()
	require.NoError(s.t, s.world.Run(s.world.Now().Add(time.Millisecond)))
}

// heard takes what the enemy has received.
func (s *siege) heard() (packets []*bth.Packet) {
	s.t.Helper()
	for n := s.enemy.Queue().Recv(s.rx[:]); n > 0; n = s.enemy.Queue().Recv(s.rx[:]) {
		for _, rx := range s.rx[:n] {
			body, ok := wire.StripICRC(rx.Frag)
			require.True(s.t, ok)
			packets = append(packets, bthtest.Parse(s.t, append([]byte(nil), body[0]...)))
		}
		s.enemy.Queue().Release()
	}
	return packets
}

// answers is what the enemy has received, in words.
func (s *siege) answers() (words []string) {
	s.t.Helper()
	for _, p := range s.heard() {
		w := fmt.Sprintf("%s %d", p.Opcode, p.PSN.Diff(enemyPSN))
		if p.Opcode.Is(bth.HasAETH) {
			w += " " + p.AETH.Syndrome.String()
		}
		words = append(words, w)
	}
	return words
}

// deafen throws away what the enemy has received, without allocating.
func (s *siege) deafen() {
	for s.enemy.Queue().Recv(s.rx[:]) > 0 {
		s.enemy.Queue().Release()
	}
}

// business is a round of the bystander's work: every operation towards the friend, and a
// message back. It returns how long that took, and allocates nothing.
func (s *siege) business() time.Duration {
	b, f := s.bystander, s.friend
	there, began := f.mr.Remote(), s.world.Now()
	for i, b := range [...]error{
		posting(f.qp.PostRecv(roce.RecvWR{SGE: f.mr.SGE(0, 3000)})),
		posting(b.qp.PostRecv(roce.RecvWR{SGE: b.mr.SGE(0, 3000)})),
		posting(b.qp.PostSend(
			roce.SendWR{Op: roce.OpSend, SGE: b.mr.SGE(4096, 3000)},
			roce.SendWR{Op: roce.OpWrite, SGE: b.mr.SGE(4096, 3000), RemoteAddr: there.Addr + 4096, RKey: there.Key},
			roce.SendWR{Op: roce.OpRead, SGE: b.mr.SGE(8192, 3000), RemoteAddr: there.Addr + 4096, RKey: there.Key},
			roce.SendWR{Op: roce.OpFetchAdd, SGE: b.mr.SGE(16384, 8), RemoteAddr: there.Addr + 16384, RKey: there.Key, Add: 1, Flags: roce.Signaled})),
		posting(f.qp.PostSend(roce.SendWR{Op: roce.OpSend, SGE: f.mr.SGE(4096, 3000), Flags: roce.Signaled})),
	} {
		if b != nil {
			s.t.Fatalf("posting %d: %v", i, b)
		}
	}
	done := 0
	for limit := began.Add(time.Second); done < 4; {
		if more, err := s.world.Step(); err != nil || !more || s.world.Now() > limit {
			s.t.Fatalf("the bystander waits since %v: %v", began, err)
		}
		done += s.succeeded(b) + s.succeeded(f)
	}
	return s.world.Now().Sub(began)
}

func posting(_ int, err error) error { return err }

// succeeded is the number of new completions, all of them successes.
func (s *siege) succeeded(e *end) int {
	var wcs [8]roce.WC
	n := e.cq.Poll(wcs[:])
	for i := range wcs[:n] {
		if wcs[i].Status != roce.StatusSuccess {
			s.t.Fatalf("%s: %v", e.qp, wcs[i].Status)
		}
	}
	return n
}

// unconcerned proves that bystander and friend noticed nothing so far: no packet of
// theirs was sent twice, refused or waited for, and the memory is as their work made it.
func (s *siege) unconcerned() {
	s.t.Helper()
	for name, e := range map[string]*end{"bystander": s.bystander, "friend": s.friend} {
		st := e.qp.Stats()
		require.Equal(s.t, roce.StateRTS, e.qp.State(), name)
		require.NoError(s.t, e.qp.Err(), name)
		require.Zero(s.t, st.Retransmitted+st.Timeouts+st.RNRWaits+st.RNRNAKs+st.Gaps+st.Duplicates+st.AccessErrors, "%s: %+v", name, st)
	}
	st := s.friend.qp.Stats()
	require.Equal(s.t, st.Sends, st.Atomics)
	require.Equal(s.t, st.Atomics, s.friend.mr.LoadUint64(16384), "each of the bystander's atomics was carried out once")
}

// under has the bystander do its business under volley after volley of the same packets.
// Its work takes no longer than without, but for the time that the attack is on the
// host's wire, and after the first rounds nothing is allocated.
func (s *siege) under(rounds int, volley func()) {
	s.t.Helper()
	round := func() {
		before := s.busy
		volley()
		if took := s.business(); took > s.quiet+s.busy-before {
			s.t.Fatalf("the bystander's business took %v instead of %v: the attack was on the wire for %v only", took, s.quiet, s.busy-before)
		}
		s.deafen()
	}
	for range 3 {
		round()
	}
	allocs := testing.AllocsPerRun(rounds, round)
	if !testenv.Race {
		require.Zero(s.t, allocs, "allocations per round: what an attack takes of memory has to have an end")
	}
	s.unconcerned()
}

// frameArrived adds up for how long the attack, and what is answered to it, occupies the
// host's wire.
func (s *siege) frameArrived(e simnet.FrameEvent) {
	if e.Step == simnet.Delivered && e.From != "friend" && e.To != "friend" {
		s.busy += wireTime(len(e.Frame))
	}
}

// wireTime is for how long n bytes of UDP payload occupy a wire.
func wireTime(n int) time.Duration {
	const overhead = wire.EthernetOverhead + wire.IPv4Len + wire.UDPLen
	return time.Duration(float64(n+overhead) / bytesPerNanosecond)
}
