//go:build linux

package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
	"github.com/rocinante-rdma/roce/xdp"
)

// linkTests are the packages of links, and which of their tests show on a guest's
// kernel that the link works there. Those of VLANs need a module that not every host has,
// that of locked memory a capability that containers lack.
// Left out is what the oldest kernel lacks: super-frames from udp to raw.
var linkTests = []struct{ pkg, few, all string }{
	{"link/udp", "^TestConformance$", "^TestConformance"},
	{"link/raw", "^TestConformance$/^IPv4,_MTU_9000$|^TestConformanceOnVLAN$/^by_the_interface_below$|^TestVLANsAreApart$",
		"^TestConformance(OnVLAN|WhereSuperFramesAreRefused)?$|^TestConformanceWithUDP$/^IPv[46]$|^TestVLANsAreApart$"},
	{"xdp", "^TestConformance$/^MTU_9000_native_IPv4$|^TestMemlock$", "^TestConformance|^TestMemlock$"},
}

// linkSkips are the reasons of checks that some pairs of links have nothing for, on any
// kernel.
var linkSkips = []string{
	"^IPv6 has no identification$", `^no packet fills an MTU of \d+$`, "^the pair cannot inject what is no packet$",
}

// insideMemoryMB is the memory of a guest in which links are tested: the suites keep
// what they send to compare it.
const insideMemoryMB = 1024

// TestLinksInside runs the links' conformance suites on each kernel of the guests, of
// which the oldest lacks some of what the links use where it is: few forms of each link,
// or all of them if ROCE_FULL is set.
func TestLinksInside(t *testing.T) {
	if inside() {
		t.Run("fallbacks", testFallbacks)
		return
	}
	testenv.Need(t, guest.Feature)
	var rows []Row
	for _, k := range guest.Kernels() {
		t.Run(string(k), func(t *testing.T) {
			g := guest.BootForTest(t, k, guest.Config{NoRDMA: true, MemoryMB: insideMemoryMB, Modules: []string{"8021q"}})
			for _, l := range linkTests {
				t.Run(l.pkg, func(t *testing.T) {
					tests := l.few
					if testenv.Full() {
						tests = l.all
					}
					v := runInside(t, g, testBinary(t, l.pkg), tests, linkSkips...)
					rows = append(rows, newRow(t, g, "inside", "conformance of "+l.pkg, len(v.passed), nil))
				})
			}
			t.Run("fallbacks", func(t *testing.T) {
				v := runInside(t, g, testBinary(t, "interop"), "^TestLinksInside$")
				t.Log(v.printed["TestLinksInside/fallbacks"])
				rows = append(rows, newRow(t, g, "inside", "fallbacks named", len(v.passed), nil))
			})
		})
	}
	if testenv.Full() && !t.Failed() {
		require.Len(t, rows, len(guest.Kernels())*(len(linkTests)+1), "results")
		keep(t, rows)
	}
}

// fallback is what a kernel lacks and a link does without.
type fallback struct {
	superFrames bool // UDP segmentation on AF_PACKET sockets (Linux 6.2)
	multiBuffer bool // AF_XDP packets of several chunks (Linux 6.6)
}

// testFallbacks runs in a guest: the links say what they do without on its kernel.
func testFallbacks(t *testing.T) {
	want := fallback{superFrames: true, multiBuffer: true}
	if strings.HasPrefix(kernelRelease(t), "6.1.") {
		want = fallback{}
	}
	street := netnstest.NewStreet(t, netns.Options{MTU: 9000})
	r := openIn(t, street.A.Netns, street.A.Interface, openRaw).(*raw.Link)
	sendBurst(t, r, street.B)
	require.Equal(t, want.superFrames, r.SuperFrames(), "super-frames over AF_PACKET: %v", r.Counters())
	t.Logf("raw: super-frames: %v", r.SuperFrames())
	testSuperFrameOfUDP(t, r, street, want.superFrames)
	require.NoError(t, r.Close())

	for _, mode := range []struct {
		xdp.Option
		bpf.Mode
	}{{xdp.Native(), bpf.Native}, {xdp.Generic(), bpf.Generic}} {
		x := openIn(t, street.A.Netns, street.A.Interface, openXDP(mode.Option)).(*xdp.Link)
		s := x.Setup()
		t.Logf("xdp: %v", s)
		require.Equal(t, mode.Mode, s.Mode)
		require.False(t, s.ZeroCopy, "veth has no zero-copy")
		require.Equal(t, want.multiBuffer, s.MultiBuffer)
		if want.multiBuffer {
			require.Equal(t, 4096, link.PathMTU(x.MTU()))
		} else {
			require.Error(t, s.WhySingle)
			require.Equal(t, 2048, link.PathMTU(x.MTU()))
		}
		require.NoError(t, x.Close())
	}
}

// testSuperFrameOfUDP: of a UDP peer on the same machine raw takes super-frames, or drops
// and counts them.
func testSuperFrameOfUDP(t *testing.T, r *raw.Link, street *netns.Street, taken bool) {
	t.Helper()
	u := openIn(t, street.B.Netns, street.B.Interface, func(string) (link.Link, error) { return udp.Open(street.B.IPv4) })
	require.NoError(t, street.B.Do(func() error {
		sendBurst(t, u, street.A)
		return nil
	}))
	var rx [1]link.Rx
	await(t, r.Queue(), func() bool {
		arrived := r.Queue().Recv(rx[:]) > 0
		dropped := slices.ContainsFunc(r.Counters(), func(c link.Counter) bool {
			return strings.HasPrefix(c.Name, "raw: dropped, super-frame that the kernel cannot describe") && c.Value > 0
		})
		require.False(t, arrived && !taken || dropped && taken, "a super-frame arrived: %v; one was dropped: %v", arrived, dropped)
		return arrived || dropped
	})
	r.Queue().Release()
	require.NoError(t, u.Close())
}

// sendBurst sends packets of one size to a host at once.
func sendBurst(t *testing.T, l link.Link, to *netns.Host) {
	t.Helper()
	i := 0
	for !l.Addrs()[i].Is4() {
		i++
	}
	p := wire.Path{Src: l.Addrs()[i], Dst: to.IPv4, SrcPort: 0xc000}
	require.NoError(t, l.Resolve(&p))
	p.Prepare()
	q := l.Queue()
	for range 8 {
		var s link.Slot
		q.Reserve(&p, 12, [][]byte{make([]byte, 1024)}, 0, true, &s)
		p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
	}
	_, err := q.Flush()
	require.NoError(t, err)
}

func kernelRelease(t *testing.T) string {
	var u unix.Utsname
	require.NoError(t, unix.Uname(&u))
	return unix.ByteSliceToString(u.Release[:])
}
