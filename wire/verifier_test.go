package wire

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// sealed returns a packet on the path with the identification.
func sealed(p *Path, id uint16) [2][]byte {
	b := make([]byte, 40)
	p.Seal(id, b[:12], [][]byte{b[12:36]}, b[36:])
	return [2][]byte{b}
}

func testPath(src string) *Path {
	p := &Path{Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(src).Next(), SrcPort: 0xc001}
	p.Prepare()
	return p
}

func infer(v *Verifier, p *Path, index int, packet [2][]byte) ICRC {
	return v.Infer(p.Src, p.Dst, p.SrcPort, index, packet)
}

func TestInferBurst(t *testing.T) {
	var v Verifier
	p := testPath("10.0.0.1")
	for i := range 40 {
		require.Equal(t, ICRCGood, infer(&v, p, i, sealed(p, uint16(i))), "identification equals the place in the burst")
	}
	require.Equal(t, ICRCGood, infer(&v, p, 5, sealed(p, 0)), "datagrams with identification 0, coalesced on the way")
}

func TestInferCounter(t *testing.T) {
	var v Verifier
	p := testPath("10.0.0.1")
	id := uint16(0xfff0)
	require.Equal(t, ICRCInferred, infer(&v, p, 7, sealed(p, id)), "nothing was known before")
	for _, c := range []struct {
		step int
		want ICRC
	}{
		{1, ICRCGood}, {1, ICRCGood}, {idAhead, ICRCGood}, {-idBehind, ICRCGood}, {0, ICRCGood},
		{idAhead + 1, ICRCInferred}, {1, ICRCGood}, {-idBehind - 1, ICRCInferred}, {1, ICRCGood},
	} {
		id += uint16(c.step)
		require.Equal(t, c.want, infer(&v, p, 7, sealed(p, id)), "step %d", c.step)
	}
}

// W16: damage is found though the identification is unseen.
func TestInferBad(t *testing.T) {
	var v Verifier
	p := testPath("10.0.0.1")
	packet := sealed(p, 3)
	packet[0][20] ^= 0x55
	require.Equal(t, ICRCBad, infer(&v, p, 0, packet))
	require.Equal(t, ICRCBad, infer(&v, p, 0, [2][]byte{packet[0][:15]}))
}

func TestInferIPv6IsExact(t *testing.T) {
	var v Verifier
	p := testPath("fd00::1")
	packet := sealed(p, 0)
	require.Equal(t, ICRCGood, infer(&v, p, 7, packet))
	packet[0][20] ^= 1
	require.Equal(t, ICRCBad, infer(&v, p, 7, packet))
}

func TestVerifierKnown(t *testing.T) {
	var v Verifier
	for _, src := range []string{"10.0.0.1", "10.0.1.0", "fd00::1", "10.0.0.1"} { // the first two share a slot
		p := testPath(src)
		packet := sealed(p, 9)
		require.Equal(t, ICRCGood, v.Verify(p.Src, p.Dst, p.SrcPort, DontFragment, 9, packet))
		require.Equal(t, ICRCBad, v.Verify(p.Src, p.Dst, p.SrcPort+1, DontFragment, 9, packet))
		if p.Src.Is4() {
			require.Equal(t, ICRCBad, v.Verify(p.Src, p.Dst, p.SrcPort, 0, 9, packet))
			require.Equal(t, ICRCBad, v.Verify(p.Src, p.Dst, p.SrcPort, DontFragment, 8, packet))
		}
	}
}

// A peer that shares the slot of another neither borrows nor leaves an expectation.
func TestVerifierPeersDoNotMix(t *testing.T) {
	var v Verifier
	a, b := testPath("10.0.0.1"), testPath("10.0.1.0")
	require.Equal(t, ICRCInferred, infer(&v, a, 0, sealed(a, 5000)))
	require.Equal(t, ICRCInferred, infer(&v, b, 0, sealed(b, 5001)))
	require.Equal(t, ICRCInferred, infer(&v, a, 0, sealed(a, 5001)))
	require.Equal(t, ICRCGood, infer(&v, a, 0, sealed(a, 5002)))
}
