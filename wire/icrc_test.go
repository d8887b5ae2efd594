package wire

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// vector is one frame from its IP header on, with a right ICRC.
type vector struct {
	name string
	ip   []byte
	flow Flow
	path Path
	id   uint16
	udp  int // offset of the UDP payload
}

var vectors = []vector{
	// A CNP of a ConnectX-4 Lx.
	v4vector("CNP", "10.0.17.1", "10.0.18.1", 0, 0x718c, `
		45c2003c718c4000401191610a0011010a001201 000012b700280000
		8100ffff4000011800000000 00000000000000000000000000000000 82fd002a`),
	// A UC SEND Only with pad 2 and a UDP checksum.
	v4vector("UC SEND Only", "192.168.0.7", "192.168.0.7", 0xc000, 0x0478, `
		45010040047840004011b4d5c0a80007c0a80007 c00012b7002caca2
		2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000 78f353f3`),
	v4vector("RC ACK", "10.0.0.2", "10.0.0.1", 0xc000, 0x1234, `
		4500003012344000401114870a0000020a000001 c00012b7001c0000
		1100ffff0000001100000123 1f000001 37af1729`),
	v6vector("RC SEND Only, IPv6", "fe80::1", "fe80::2", 0xc001, `
		6000000000201140fe800000000000000000000000000001fe800000000000000000000000000002 c00112b700200000
		0430ffff0000001280abcdef 68656c6c6f000000 3a5706c6`),
}

func v4vector(name, src, dst string, port, id uint16, text string) vector {
	return newVector(name, src, dst, port, id, text, IPv4Len+UDPLen)
}

func v6vector(name, src, dst string, port uint16, text string) vector {
	return newVector(name, src, dst, port, 0, text, IPv6Len+UDPLen)
}

func newVector(name, src, dst string, port, id uint16, text string, udp int) vector {
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		panic(err)
	}
	p := Path{Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), SrcPort: port}
	p.Prepare()
	return vector{name, b, p.icrc, p, id, udp}
}

func (v vector) packet() []byte { return v.ip[v.udp:] }

func TestICRCVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			for cut := bthLen; cut <= len(v.packet()); cut++ {
				require.True(t, v.flow.Verify(v.id, pieces(v.packet(), cut)), "split at %d", cut)
			}
			require.True(t, VerifyICRC(v.path.Src, v.path.Dst, v.path.SrcPort, DontFragment, v.id, pieces(v.packet(), len(v.packet()))))
		})
	}
}

func TestSealVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			want := v.packet()
			pad := int(want[1] >> 4 & 3)
			for head := bthLen; head <= len(want)-ICRCLen-pad; head++ {
				body := want[head : len(want)-ICRCLen-pad]
				tail := []byte{0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa}[:pad+ICRCLen]
				v.path.Seal(v.id, want[:head], [][]byte{body[:len(body)/2], nil, body[len(body)/2:]}, tail)
				require.Equal(t, want[len(want)-ICRCLen-pad:], tail, "header of %d bytes", head)
			}
		})
	}
}

// reference computes the ICRC from the bytes of a whole IP packet, as the
// specification words it.
func reference(ip []byte) uint32 {
	b := append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), ip[:len(ip)-ICRCLen]...)
	h := b[8:]
	udp := IPv4Len
	if h[0]>>4 == 4 {
		h[1], h[8], h[10], h[11] = 0xff, 0xff, 0xff, 0xff
	} else {
		udp = IPv6Len
		h[0], h[1], h[2], h[3], h[7] = h[0]|0x0f, 0xff, 0xff, 0xff, 0xff
	}
	h[udp+6], h[udp+7], h[udp+UDPLen+4] = 0xff, 0xff, 0xff
	return crc32.ChecksumIEEE(b)
}

func TestReferenceAgreesWithVectors(t *testing.T) {
	for _, v := range vectors {
		require.Equal(t, hex.EncodeToString(v.ip[len(v.ip)-ICRCLen:]), fmt.Sprintf("%08x", swap(reference(v.ip))), v.name)
	}
}

func swap(c uint32) uint32 { return c<<24 | c&0xff00<<8 | c>>8&0xff00 | c>>24 }

// Every length from the shortest packet to the longest, at random contents.
func TestSealEqualsReferenceAtEveryLength(t *testing.T) {
	r := seeded(t)
	for _, v6 := range []bool{false, true} {
		for n := minPacket; n <= maxPacket; n += 1 + n/64 {
			p := randomPath(r, v6)
			id := uint16(r.Uint32())
			packet := randomBytes(r, n)
			p.Seal(id, packet[:bthLen], [][]byte{packet[bthLen : n-ICRCLen]}, packet[n-ICRCLen:])
			ip := append(rawHeaders(p, id, n), packet...)
			require.Equal(t, reference(ip), swap(be32(packet[n-ICRCLen:])), "%d bytes to %v", n, p.Dst)
			require.True(t, p.icrc.Verify(id, pieces(packet, n)))
			solved, ok := p.icrc.SolveID(uint16(r.Uint32()), pieces(packet, n))
			require.True(t, ok)
			if !v6 {
				require.Equal(t, id, solved)
			}
		}
	}
}

// rawHeaders writes the headers that Seal assumes, field by field.
func rawHeaders(p Path, id uint16, n int) []byte {
	var h []byte
	if p.Src.Is4() {
		h = append(h, 0x45, 7, byte((28+n)>>8), byte(28+n), byte(id>>8), byte(id), 0x40, 0, 64, 17, 0, 0)
	} else {
		h = append(h, 0x60, 0x12, 0x34, 0x56, byte((8+n)>>8), byte(8+n), 17, 64)
	}
	h = append(append(h, p.Src.AsSlice()...), p.Dst.AsSlice()...)
	return append(h, byte(p.SrcPort>>8), byte(p.SrcPort), 0x12, 0xb7, byte((8+n)>>8), byte(8+n), 0, 0)
}

// A changed bit is found everywhere but in the masked byte of the BTH.
func TestVerifyFindsEveryFlippedBit(t *testing.T) {
	for _, v := range vectors {
		packet := append([]byte(nil), v.packet()...)
		for bit := range len(packet) * 8 {
			packet[bit/8] ^= 1 << (bit % 8)
			require.Equal(t, bit/8 == 4, v.flow.Verify(v.id, pieces(packet, 12)), "%s: bit %d of byte %d", v.name, bit%8, bit/8)
			packet[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestVerifyRefusesImpossibleLengths(t *testing.T) {
	f := vectors[0].flow
	for a := range minPacket {
		for b := 0; a+b < minPacket; b++ {
			require.False(t, f.Verify(0, [2][]byte{make([]byte, a), make([]byte, b)}))
			_, ok := f.SolveID(0, [2][]byte{make([]byte, a), make([]byte, b)})
			require.False(t, ok)
		}
	}
	for _, c := range []struct {
		a, b int
		ok   bool
	}{{12, 4, true}, {12, 3, false}, {16, 0, true}, {15, 0, false}, {11, 100, false}, {12, maxPacket - 12, true}, {maxPacket, 1, false}} {
		_, ok := f.whole(0, [2][]byte{make([]byte, c.a), make([]byte, c.b)})
		require.Equal(t, c.ok, ok, "%d and %d bytes", c.a, c.b)
	}
}

func TestStripICRC(t *testing.T) {
	b := []byte("0123456789")
	for n := range len(b) + 1 {
		for cut := range n + 1 {
			rest, ok := StripICRC(pieces(b[:n], cut))
			require.Equal(t, n >= ICRCLen, ok)
			require.Equal(t, string(b[:max(0, n-ICRCLen)]), string(rest[0])+string(rest[1]), "%d bytes split at %d", n, cut)
		}
	}
}

func TestSolveIDFindsEveryID(t *testing.T) {
	p := vectors[2].path
	packet := append([]byte(nil), vectors[2].packet()...)
	for id := range 1 << 16 {
		p.Seal(uint16(id), packet[:16], nil, packet[16:])
		got, ok := p.icrc.SolveID(0x5555, pieces(packet, 16))
		require.True(t, ok)
		require.Equal(t, uint16(id), got)
	}
}

// A wrong bit next to the identification is not taken for one of it.
func TestSolveIDRejectsOtherFlags(t *testing.T) {
	v := vectors[2]
	for bit := range 16 {
		f := MakeFlow(v.path.Src, v.path.Dst, v.path.SrcPort, DontFragment^1<<bit)
		_, ok := f.SolveID(v.id, pieces(v.packet(), 16))
		require.False(t, ok, "flags bit %d", bit)
	}
}

// Random damage has a solution once in 65 536 times: the measure of how weak an
// inferred ICRC is.
func TestSolveIDRejectsDamage(t *testing.T) {
	r := seeded(t)
	const tries = 1 << 20
	solved := 0
	packet := randomBytes(r, 64)
	for range tries {
		packet[20+r.IntN(40)] ^= 1 << r.IntN(8)
		if _, ok := vectors[0].flow.SolveID(0, pieces(packet, 64)); ok {
			solved++
		}
	}
	t.Logf("%d of %d damaged packets have a solution; %d expected", solved, tries, tries>>16)
	require.Less(t, solved, 3*tries>>16)
}

func TestSealPanicsOnUnpreparedPath(t *testing.T) {
	require.Panics(t, func() { new(Path).Seal(0, make([]byte, 12), nil, make([]byte, 4)) })
}

func TestICRCDoesNotAllocate(t *testing.T) {
	p := vectors[0].path
	buf := make([]byte, 12+16+4096+4)
	body := [][]byte{buf[28:1000], buf[1000 : len(buf)-ICRCLen]}
	var v Verifier
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.Seal(7, buf[:28], body, buf[len(buf)-ICRCLen:])
		packet := pieces(buf, 2000)
		if _, ok := p.icrc.SolveID(3, packet); !ok || !VerifyICRC(p.Src, p.Dst, p.SrcPort, DontFragment, 7, packet) {
			t.Error("the packet just sealed does not verify")
		}
		v.Infer(p.Src, p.Dst, p.SrcPort, 0, packet)
	}))
}

func pieces(b []byte, cut int) [2][]byte { return [2][]byte{b[:cut], b[cut:]} }

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func randomPath(r *rand.Rand, v6 bool) Path {
	p := Path{SrcPort: uint16(r.Uint32())}
	if v6 {
		p.Src, p.Dst = netip.AddrFrom16([16]byte(randomBytes(r, 16))), netip.AddrFrom16([16]byte(randomBytes(r, 16)))
	} else {
		p.Src, p.Dst = netip.AddrFrom4([4]byte(randomBytes(r, 4))), netip.AddrFrom4([4]byte(randomBytes(r, 4)))
	}
	p.Prepare()
	return p
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// seeded returns a random source for which the test prints how to repeat it.
func seeded(t *testing.T) *rand.Rand { return rand.New(rand.NewPCG(testenv.Seed(t), 0)) }
