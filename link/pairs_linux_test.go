package link_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/xdp"
)

// openers open the links that reach a network, on a host.
var openers = map[string]func(h *netns.Host) (link.Link, error){
	"udp": func(h *netns.Host) (link.Link, error) { return udp.Open(h.IPv4) },
	"raw": func(h *netns.Host) (link.Link, error) { return raw.Open(h.Interface, raw.Addrs(h.IPv4)) },
	"xdp": func(h *netns.Host) (link.Link, error) { return xdp.Open(h.Interface, xdp.Addrs(h.IPv4), xdp.Native()) },
}

// volume is how much the pairs carry.
type volume struct{ sends, writes int }

func thisVolume(t *testing.T) volume {
	t.Helper()
	if testenv.Race {
		return volume{sends: 20_000, writes: 16}
	}
	return volume{sends: 1_000_000, writes: 1024}
}

// Every link talks to every other: SENDs of 64 bytes and WRITEs of 1 MiB, all
// compared, over a veth pair at path MTU 4096, while the hosts' own TCP and ping go on
// over the same interface undisturbed.
func TestEveryLinkToEveryLink(t *testing.T) {
	seed := testenv.Seed(t)
	v := thisVolume(t)
	pairs := 0
	for _, a := range slices.Sorted(maps.Keys(openers)) {
		for _, b := range slices.Sorted(maps.Keys(openers)) {
			t.Run(a+" to "+b, func(t *testing.T) {
				street := netnstest.NewStreet(t, netns.Options{MTU: 4200})
				neighbours := startNeighbours(t, street)
				x, y := connect(t, openers[a], openers[b], street)
				rnd := rand.New(rand.NewPCG(seed, uint64(pairs)))
				sendAll(t, x, y, v.sends)
				writeAll(t, x, y, v.writes, rnd)
				x.requireNoBadICRC()
				y.requireNoBadICRC()
				neighbours.stop()
			})
			pairs++
		}
	}
	require.Equal(t, len(openers)*len(openers), pairs)
}

const (
	depth     = 512     // work requests under way
	sendSize  = 64      // bytes
	writeSize = 1 << 20 // bytes
	slots     = 4       // WRITEs under way
)

// end is a device with one connected queue pair.
type end struct {
	t    *testing.T
	dev  *roce.Device
	cq   *roce.CQ
	qp   *roce.QP
	mr   *roce.MR
	wcs  [depth]roce.WC
	name string
}

func connect(t *testing.T, a, b func(*netns.Host) (link.Link, error), s *netns.Street) (x, y *end) {
	t.Helper()
	x, y = newEnd(t, a, s.A), newEnd(t, b, s.B)
	// A patient retry: on a busy machine either end may not run for a while.
	patient := roce.WithRetry(16, roce.DefaultRetryCount, roce.DefaultRNRRetry)
	require.NoError(t, s.A.Do(func() error { return x.qp.Connect(y.qp.Info(), patient) }))
	require.NoError(t, s.B.Do(func() error { return y.qp.Connect(x.qp.Info(), patient) }))
	require.Equal(t, 4096, x.qp.Attr().PathMTU)
	return x, y
}

func newEnd(t *testing.T, open func(*netns.Host) (link.Link, error), h *netns.Host) *end {
	t.Helper()
	e := &end{t: t}
	var l link.Link
	require.NoError(t, h.Do(func() (err error) { l, err = open(h); return err }))
	var err error
	e.dev, err = roce.Open(l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.dev.Close()) })
	e.name = l.Name()
	e.equip()
	return e
}

// equip gives an end on a device all that it works with.
func (e *end) equip() {
	e.t.Helper()
	pd, err := e.dev.AllocPD()
	require.NoError(e.t, err)
	e.cq, err = e.dev.CreateCQ(2 * depth)
	require.NoError(e.t, err)
	e.mr, err = pd.RegMR(make([]byte, slots*writeSize), roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessRemoteRead)
	require.NoError(e.t, err)
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: depth, RecvDepth: depth})
	require.NoError(e.t, err)
}

// reap waits for completions, which must be good, and passes each on.
func (e *end) reap(each func(*roce.WC)) {
	n, err := e.cq.Wait(e.t.Context(), e.wcs[:])
	e.must(err)
	for i := range e.wcs[:n] {
		e.must(e.wcs[i].Err())
		each(&e.wcs[i])
	}
}

// must ends everything if there is an error: the other end, in a goroutine of its own,
// would wait for ever.
func (e *end) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v; counters: %v", e.name, err, e.dev.Stats()))
	}
}

func (e *end) recv(slot uint64) {
	_, err := e.qp.PostRecv(roce.RecvWR{ID: slot, SGE: e.mr.SGE(int(slot)*sendSize, sendSize)})
	e.must(err)
}

// sendAll sends n messages, each with its number in every word.
func sendAll(t *testing.T, x, y *end, n int) {
	t.Helper()
	for slot := range uint64(depth) {
		y.recv(slot)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		x.send(n)
	}()
	for got := 0; got < n; {
		y.reap(func(wc *roce.WC) {
			message := y.mr.Bytes()[wc.ID*sendSize:][:sendSize]
			for at := 0; at < sendSize; at += 8 {
				if word := binary.BigEndian.Uint64(message[at:]); word != uint64(got) {
					require.EqualValues(t, got, word, "byte %d of a message", at)
				}
			}
			got++
			y.recv(wc.ID)
		})
	}
	<-sent
}

// send keeps the queue full; every eighth request is signaled.
func (e *end) send(n int) {
	const signal = 8
	for sent, done := 0, 0; done < n; {
		for ; sent < n && sent-done < depth; sent++ {
			slot := sent % depth
			message := e.mr.Bytes()[slot*sendSize:][:sendSize]
			for at := 0; at < sendSize; at += 8 {
				binary.BigEndian.PutUint64(message[at:], uint64(sent))
			}
			wr := roce.SendWR{ID: uint64(sent), Op: roce.OpSend, SGE: e.mr.SGE(slot*sendSize, sendSize)}
			if sent%signal == signal-1 || sent == n-1 {
				wr.Flags = roce.Signaled
			}
			_, err := e.qp.PostSend(wr)
			e.must(err)
		}
		e.reap(func(wc *roce.WC) { done = int(wc.ID) + 1 })
	}
}

// writeAll writes n random blocks, some at once, and compares each with what arrived.
func writeAll(t *testing.T, x, y *end, n int, rnd *rand.Rand) {
	t.Helper()
	for done := 0; done < n; done += slots {
		for word := range len(x.mr.Bytes()) / 8 {
			binary.LittleEndian.PutUint64(x.mr.Bytes()[8*word:], rnd.Uint64())
		}
		for slot := range slots {
			remote := y.mr.Remote().Slice(slot*writeSize, writeSize)
			_, err := x.qp.PostSend(roce.SendWR{
				Op: roce.OpWrite, SGE: x.mr.SGE(slot*writeSize, writeSize), Flags: roce.Signaled,
				RemoteAddr: remote.Addr, RKey: remote.Key,
			})
			require.NoError(t, err)
		}
		for acknowledged := 0; acknowledged < slots; {
			x.reap(func(*roce.WC) { acknowledged++ })
		}
		if !slices.Equal(x.mr.Bytes(), y.mr.Bytes()) {
			require.Equal(t, x.mr.Bytes(), y.mr.Bytes(), "after %d of %d blocks", done, n)
		}
	}
}

// requireNoBadICRC fails if the device dropped a packet for its ICRC.
func (e *end) requireNoBadICRC() {
	e.t.Helper()
	for _, c := range e.dev.Stats() {
		e.t.Logf("%s: %s: %d", e.name, c.Name, c.Value)
		require.NotContains(e.t, c.Name, transport.RuleICRC.String(), e.name)
	}
}
