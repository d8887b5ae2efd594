//go:build linux

package interop

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// lab is a guest on a wire, and our device at the other end of it.
type lab struct {
	g     *guest.Guest
	dev   *roce.Device
	tap   *wiretap
	signs *signs // of congestion, as our device sees them
	over  string // the link of our device, if not the wire itself
}

// newLab boots a kernel, which runs until the test ends.
func newLab(t *testing.T, k guest.Kernel) *lab {
	t.Helper()
	g := guest.BootForTest(t, k, guest.Config{})
	l, err := g.Wire().Link()
	require.NoError(t, err)
	return openLab(t, g, l, "")
}

// openLab opens our device on a link, until the test ends.
func openLab(t *testing.T, g *guest.Guest, l link.Link, over string) *lab {
	t.Helper()
	seen := new(signs)
	dev, err := roce.Open(l, roce.WithTap(trace.Only(seen, trace.Congestion)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return &lab{g, dev, newWiretap(g.Wire()), seen, over}
}

// row is the result of a suite. One over a link is a case of the link's own suite.
func (l *lab) row(t *testing.T, suite, name string, passed int, packets []*decode.Packet) Row {
	t.Helper()
	if l.over != "" {
		suite, name = l.over, suite+", "+name
	}
	return newRow(t, l.g, suite, name, passed, packets)
}

// watched runs a suite and holds all of its traffic against the decoder, the ICRC and
// tshark, but for packets that were corrupted on their way to the guest, and against
// further checks of the capture. It returns what was seen.
func (l *lab) watched(t *testing.T, suite func(), checks ...captureCheck) (seen []*sighting) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wire.pcap")
	stop := record(t, l.g, file)
	mark := l.tap.mark()
	suite()
	packets := stop()
	seen = l.tap.since(mark)
	t.Run("capture", func(t *testing.T) {
		testenv.Need(t, testenv.Tshark)
		require.NotEmpty(t, packets)
		requireKnown(t, file, len(packets))
		sound := slices.DeleteFunc(slices.Clone(packets), func(p *decode.Packet) bool { return p.ICRC == decode.ICRCBad })
		spoilt := count(seen, func(s *sighting) bool { return s.spoilt() && s.dir == guest.ToGuest })
		require.Equal(t, spoilt, len(packets)-len(sound), "packets with a bad ICRC")
		requireSound(t, sound)
		for _, check := range checks {
			check(t, file, packets)
		}
	})
	return seen
}

// captureCheck checks a capture file, of which the RoCEv2 packets are these.
type captureCheck func(t *testing.T, file string, packets []*decode.Packet)

// family is one of the two IP protocols.
type family struct {
	name        string
	gid         int // index in the guest's table
	host, guest netip.Addr
}

var families = []family{
	{"IPv4", guest.GIDIndexIPv4, guest.HostIPv4.Addr(), guest.GuestIPv4.Addr()},
	{"IPv6", guest.GIDIndexIPv6, guest.HostIPv6.Addr(), guest.GuestIPv6.Addr()},
}

// bench holds what all connections over one family share: a protection domain and a
// region at either end.
type bench struct {
	*lab
	family
	pd     *roce.PD
	mem    *roce.MR
	peer   *guest.Peer
	region *guest.PeerRegion
}

// newBench lasts until the test ends.
func newBench(t *testing.T, l *lab, f family) *bench {
	t.Helper()
	b := &bench{lab: l, family: f}
	var err error
	b.pd, err = l.dev.AllocPD()
	require.NoError(t, err)
	b.mem, err = b.pd.RegMR(make([]byte, memorySize), allRights|roce.AccessMWBind)
	require.NoError(t, err)
	b.peer, err = l.g.StartPeer(bounded(t), guest.PeerConfig{GIDIndex: f.gid})
	require.NoError(t, err)
	b.region, err = b.peer.Register(bounded(t), memorySize, guest.AccessAll|guest.BindWindow)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.peer.Close())
		require.NoError(t, b.mem.Close())
		require.NoError(t, b.pd.Close())
	})
	return b
}

const allRights = roce.AccessLocalWrite | roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic

// gidIndex is the index of the family's address in our device's table.
func (b *bench) gidIndex() int {
	return slices.IndexFunc(b.dev.GIDs(), func(g roce.GID) bool { return g.Addr() == b.host })
}

// settings are those of both ends of a connection.
type settings struct {
	access                   roce.Access // of peers to the queue pairs; 0: all
	timeout, retry, rnrRetry int
	class                    uint8 // traffic class

	ours   roce.QPConfig      // what else our queue pair is made of
	kernel guest.PeerQPConfig // and the kernel's
}

// patient settings are for connections over which nothing is lost: a slow guest must
// not look like a loss.
var patient = settings{timeout: 18, retry: 7, rnrRetry: 7}

// pair is a connection.
type pair struct {
	ours   *ourEnd
	kernel *kernelEnd
}

// What both ends are told. They begin shortly before the PSN wraps around.
const (
	firstPSN = 0xfffffd
	pathMTU  = 1024
	rdAtomic = 4 // READs and atomics under way at once
)

// connect makes a connection, which lasts until the test ends.
func (b *bench) connect(t *testing.T, s settings) *pair {
	t.Helper()
	p := &pair{&ourEnd{mem: b.mem}, &kernelEnd{peer: b.peer, mem: b.region}}
	if s.access == 0 {
		s.access = allRights &^ roce.AccessLocalWrite
	}
	const depth = 64
	var err error
	p.ours.cq, err = b.dev.CreateCQ(2 * depth)
	require.NoError(t, err)
	s.ours.SendCQ, s.ours.Access, s.ours.GIDIndex = p.ours.cq, s.access, b.gidIndex()
	p.ours.qp, err = b.pd.CreateQP(s.ours)
	require.NoError(t, err)
	t.Cleanup(func() { p.ours.destroy(t) })
	s.kernel.PSN, s.kernel.Access = firstPSN, guest.Access(s.access)
	p.kernel.qp, err = b.peer.NewQP(bounded(t), s.kernel)
	require.NoError(t, err)
	t.Cleanup(func() { p.kernel.destroy(t) })

	require.NoError(t, p.ours.qp.Connect(
		roce.Info{GID: b.guest, QPN: p.kernel.qp.QPN, PSN: firstPSN, MTU: pathMTU, RdAtomic: rdAtomic},
		roce.WithRetry(uint8(s.timeout), uint8(s.retry), uint8(s.rnrRetry)),
		roce.WithTrafficClass(s.class, 0),
		func(a *roce.QPAttr) { a.SQPSN = firstPSN },
	))
	reads := rdAtomic
	require.NoError(t, p.kernel.qp.Connect(bounded(t), guest.PeerConnect{
		QPN: p.ours.qp.QPN(), PSN: firstPSN, GID: b.host, MTU: pathMTU,
		Timeout: &s.timeout, Retry: &s.retry, RNRRetry: &s.rnrRetry, Reads: &reads, RemoteReads: &reads,
		TrafficClass: int(s.class),
	}))
	return p
}

// way is a direction of a connection: who requests, and who responds.
type way struct {
	name     string
	requests guest.Direction // on the wire
}

var ways = []way{{"roce to rxe", guest.ToGuest}, {"rxe to roce", guest.FromGuest}}

// ends returns the requester and the responder.
func (w way) ends(p *pair) (req, resp end) {
	if w.requests == guest.ToGuest {
		return p.ours, p.kernel
	}
	return p.kernel, p.ours
}
