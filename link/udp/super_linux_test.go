package udp

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

// supers cuts what is reserved into super-frames and returns their numbers of
// packets.
func supers(b *box) (packets []int) {
	for at := 0; at < b.Len(); {
		n, _ := b.Burst(at)
		packets = append(packets, n)
		at += n
	}
	return packets
}

// The packets of a super-frame are as long as the first, only the last may be
// shorter: a First, longer by its RETH, and the next Middle are two.
func TestSuperFrameShapes(t *testing.T) {
	a, b := pair(t)
	p, again := path(t, a, b), path(t, a, b)
	marked := *p
	marked.TrafficClass = 1
	near := *p
	near.HopLimit = 7
	self := path(t, a, a)
	n := func(count, head, payload int) (list []shot) { return slices.Repeat([]shot{{p, head, payload}}, count) }
	for name, c := range map[string]struct {
		shots []shot
		want  []int
	}{
		"WRITE of 64 KiB":              {slices.Concat(n(1, 28, 4096), n(15, 12, 4096)), []int{2, 14}},
		"READ response":                {slices.Concat(n(1, 16, 1024), n(2, 12, 1024), n(1, 16, 1024)), []int{2, 1, 1}},
		"READ response, short Last":    {slices.Concat(n(1, 16, 1024), n(2, 12, 1024), n(1, 16, 4)), []int{2, 2}},
		"acknowledgement at the end":   {slices.Concat(n(3, 12, 256), n(1, 16, 0), n(1, 16, 0)), []int{4, 1}},
		"growing":                      {slices.Concat(n(1, 12, 0), n(1, 12, 4), n(1, 12, 8)), []int{1, 1, 1}},
		"shrinking":                    {slices.Concat(n(1, 12, 8), n(1, 12, 4), n(1, 12, 0)), []int{2, 1}},
		"most packets":                 {n(128, 12, 4), []int{128}},
		"most bytes":                   {n(16, 12, 4076), []int{16}}, // 16 · 4092 = 65,472
		"one packet more":              {n(17, 12, 4076), []int{16, 1}},
		"too many bytes":               {n(16, 12, 4080), []int{15, 1}}, // 16 · 4096 = 65,536
		"another traffic class":        {[]shot{{p, 12, 4}, {&marked, 12, 4}, {&marked, 12, 4}}, []int{1, 2}},
		"another hop limit":            {[]shot{{p, 12, 4}, {&near, 12, 4}}, []int{1, 1}},
		"another connection":           {[]shot{{p, 12, 4}, {again, 12, 4}}, []int{2}},
		"another destination":          {[]shot{{p, 12, 4}, {self, 12, 4}, {p, 12, 4}}, []int{1, 1, 1}},
		"acknowledgement in a stream":  {slices.Concat(n(2, 12, 1024), n(1, 16, 0), n(2, 12, 1024)), []int{3, 2}},
		"longest possible, by the way": {n(1, link.MaxHeader, link.MaxPayload), []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range c.shots {
				put(a.queue, s.path, s.head, 1, [][]byte{make([]byte, s.payload)}, 0, false)
			}
			require.Equal(t, c.want, supers(&a.queue.box))
			for i, at := 0, 0; i < len(c.want); i++ {
				for index := range c.want[i] {
					require.Equal(t, index, a.queue.box.At(at).Index)
					at++
				}
			}
			a.queue.box.KeepFrom(a.queue.box.Len())
		})
	}
	require.Equal(t, 65493, maxSuperPayload(addr("10.0.0.1")))
	require.Equal(t, 65473, maxSuperPayload(addr("fd00::1")))
}

// shot is one packet to be sent.
type shot struct {
	path          *wire.Path
	head, payload int
}

// volley sends n packets of a size and returns their payloads.
func volley(t *testing.T, q *queue, p *wire.Path, n, size int) (payloads [][]byte) {
	t.Helper()
	r := random(t)
	for i := range n {
		pay := fill(r, make([]byte, size))
		put(q, p, 12, byte(i), [][]byte{pay}, 0, i%2 == 0)
		payloads = append(payloads, pay)
	}
	flush(t, q)
	return payloads
}

// arrive receives the packets of a volley, whose ICRC must be right for their places.
func arrive(t *testing.T, q *queue, payloads [][]byte) (metas []link.Meta) {
	t.Helper()
	packets, metas := await(q, len(payloads))
	for i, p := range packets {
		m := metas[i]
		require.Equal(t, payloads[i], p[12:len(p)-wire.ICRCLen], "packet %d", i)
		require.True(t, wire.VerifyICRC(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, [2][]byte{p}), "packet %d with identification %d", i, m.ID)
	}
	return metas
}

// Both ends see the super-frames that were meant, at every size.
func TestSuperFrames(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	for _, c := range []struct{ packets, size, supers int }{
		{1, 4096, 0}, {2, 64, 1}, {128, 0, 1}, {128, 256, 1}, {124, 1024, 2}, {31, 2048, 1}, {45, 4096, 3},
	} {
		before, got := a.Stats(), b.Stats()
		arrive(t, b.queue, volley(t, a.queue, p, c.packets, c.size))
		require.Equal(t, before.SuperSent+uint64(c.supers), a.Stats().SuperSent, "%+v", c)
		require.Equal(t, got.SuperReceived+uint64(c.supers), b.Stats().SuperReceived, "%+v", c)
	}
	require.Equal(t, a.Stats().Sent, b.Stats().Received)
	require.Empty(t, a.Counters())
}

// A kernel that refuses super-frames, here because the socket shall send no UDP
// checksums, gets single packets: none is lost, all have a right ICRC, and the
// statistics tell. The first refusal may mean the number of packets.
func TestSuperFramesRefused(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	require.NoError(t, unix.SetsockoptInt(a.queue.sock, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
	arriveSingly := func(payloads [][]byte) {
		for _, m := range arrive(t, b.queue, payloads) {
			require.Zero(t, m.ID)
		}
	}
	arriveSingly(volley(t, a.queue, p, 100, 64))
	require.Equal(t, uint64(1), a.Stats().SuperRefused)
	arriveSingly(volley(t, a.queue, p, 128, 64))
	require.Equal(t, uint64(3), a.Stats().SuperRefused, "two of 64 were in the making")
	arriveSingly(volley(t, a.queue, p, 128, 64))
	require.Equal(t, uint64(3), a.Stats().SuperRefused, "it was not tried again")

	require.NoError(t, unix.SetsockoptInt(a.queue.sock, unix.SOL_SOCKET, unix.SO_NO_CHECK, 0))
	arrive(t, a.queue, volley(t, a.queue, path(t, a, a), 128, 64))
	require.Equal(t, uint64(2), a.Stats().SuperSent, "another way may take them, of 64")
	require.Zero(t, a.Stats().Refused)
	require.Equal(t, []link.Counter{{Name: "udp: super-frames refused by the kernel, sent singly", Value: 3}}, a.Counters())
}

// Of a super-frame that is too long for the interface's MTU the packets that are not
// arrive.
func TestSuperFrameOverTheMTU(t *testing.T) {
	enterNamespace(t)
	lo := up(t, "lo")
	addAddress(t, lo, "10.9.9.8/32")
	addAddress(t, lo, "10.9.9.9/32")
	a, b := open(t, addr("10.9.9.8")), open(t, addr("10.9.9.9"))
	require.NoError(t, netlink.LinkSetMTU(lo, 1500))
	p := path(t, a, b)
	for i, n := range []int{2048, 2048, 2048, 64, 64, 64} {
		put(a.queue, p, 12, byte(i), [][]byte{make([]byte, n)}, 0, false)
	}
	require.Equal(t, []int{4, 2}, supers(&a.queue.box))
	flush(t, a.queue)
	packets, metas := await(b.queue, 3)
	for i, p := range packets {
		require.Equal(t, byte(3+i), p[0])
		m := metas[i]
		require.True(t, wire.VerifyICRC(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, [2][]byte{p}))
	}
	require.Equal(t, uint64(3), a.Stats().TooBig)
	require.Equal(t, uint64(1), a.Stats().SuperRefused)
	require.Equal(t, uint64(1), a.Stats().SuperSent)
	t.Log(a.LastRefusal())
}

// Where the kernel cuts a super-frame before the device, since that computes no
// checksums, the wire sees identifications 0, 1, 2 …, for which the ICRCs were made.
// A kernel before 6.11 refuses, and the packets go singly.
func TestSuperFrameOnTheWire(t *testing.T) {
	enterNamespace(t)
	va, vb := addVeth(t)
	require.NoError(t, setChecksumming(va.Attrs().Name, false))
	addNeighbour(t, va, vb, addr("10.9.0.2"))
	seen := sniff(t, vb)
	a := open(t, addr("10.9.0.1"))
	p := &wire.Path{Dst: addr("10.9.0.2")}
	require.NoError(t, a.Resolve(p))
	payloads := volley(t, a.queue, p, 31, 4096)
	var ids []uint16
	for i := range payloads {
		ip := seen.next()
		ids = append(ids, identification(ip))
		require.Equal(t, payloads[i], ip[40:len(ip)-wire.ICRCLen])
		require.True(t, wire.VerifyICRC(p.Src, p.Dst, wire.Port, flags(ip), identification(ip), [2][]byte{ip[28:]}), "packet %d", i)
	}
	t.Logf("identifications %v, %d super-frames, %d refused", ids, a.Stats().SuperSent, a.Stats().SuperRefused)
}

// A receiver that knows no super-frames, with the buffer that every socket has,
// loses no more of them than of single packets.
func TestSuperFramesToPlainReceiver(t *testing.T) {
	a, b := pair(t)
	for option, value := range map[[2]int]int{{unix.SOL_UDP, unix.UDP_GRO}: 0, {unix.SOL_SOCKET, unix.SO_RCVBUF}: 212992 / 2} {
		require.NoError(t, unix.SetsockoptInt(b.queue.sock, option[0], option[1], value))
	}
	p := path(t, a, b)
	var check wire.Verifier
	arrived := func(segments, size int) int {
		a.queue.box.SetSegments(segments)
		before := b.Stats()
		volley(t, a.queue, p, outbox.Packets, size)
		rx := make([]link.Rx, 64)
		for s := b.Stats(); s.Received+s.Overrun-before.Received-before.Overrun < outbox.Packets; s = b.Stats() {
			for _, r := range rx[:b.queue.Recv(rx)] {
				require.Zero(t, r.Seg)
				require.NotEqual(t, wire.ICRCBad, check.Infer(r.Meta.Src, r.Meta.Dst, r.Meta.SrcPort, 0, r.Frag))
			}
			b.queue.Release()
		}
		return int(b.Stats().Received - before.Received)
	}
	for _, size := range []int{4096, 2048, 1024, 256} {
		singly, together := arrived(1, size), arrived(outbox.MaxSegments, size)
		t.Logf("of %d packets of %d bytes arrive %d singly, %d in super-frames", outbox.Packets, size, singly, together)
		require.GreaterOrEqual(t, together, singly)
	}
	require.Positive(t, a.Stats().SuperSent)
	require.Zero(t, b.Stats().SuperReceived)
}

// Links pass the suite where only one of them, or none, has super-frames.
func TestConformanceSingly(t *testing.T) {
	for _, c := range []struct {
		name          string
		send, receive bool
	}{{"receiver without", true, false}, {"sender without", false, true}, {"both without", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
				p := conformancePair(t, nextLoopback(), nextLoopback())
				for _, l := range []link.Link{p.A, p.B} {
					q := l.(*Link).queue
					if !c.send {
						q.box.SetSegments(1)
					}
					if !c.receive {
						require.NoError(t, unix.SetsockoptInt(q.sock, unix.SOL_UDP, unix.UDP_GRO, 0))
					}
				}
				return p
			})
		})
	}
}

// setChecksumming tells an interface whether it shall compute checksums of what it
// sends; a veth pair leaves them out.
func setChecksumming(itf string, on bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := struct{ cmd, data uint32 }{unix.ETHTOOL_STXCSUM, 0}
	if on {
		value.data = 1
	}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:], itf)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
