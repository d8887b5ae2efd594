package wire

import (
	"fmt"
	"testing"
)

func BenchmarkSeal(b *testing.B) {
	perSize(b, func(p *Path, buf []byte) {
		n := len(buf) - ICRCLen
		body := [1][]byte{buf[bthLen:n]}
		p.Seal(7, buf[:bthLen], body[:], buf[n:])
	})
}

func BenchmarkVerify(b *testing.B) {
	perSize(b, func(p *Path, buf []byte) { p.icrc.Verify(7, [2][]byte{buf}) })
}

func BenchmarkSolveIDHinted(b *testing.B) {
	perSize(b, func(p *Path, buf []byte) { p.icrc.SolveID(7, [2][]byte{buf}) })
}

func BenchmarkSolveID(b *testing.B) {
	perSize(b, func(p *Path, buf []byte) { p.icrc.SolveID(8, [2][]byte{buf}) })
}

func BenchmarkMakeFlow(b *testing.B) {
	p := vectors[0].path
	for b.Loop() {
		p.Prepare()
	}
}

// perSize runs f on sealed packets with the payload sizes that matter.
func perSize(b *testing.B, f func(*Path, []byte)) {
	for _, payload := range []int{64, 1024, 4096} {
		b.Run(fmt.Sprintf("%dB", payload), func(b *testing.B) {
			p := vectors[0].path
			buf := make([]byte, bthLen+payload+ICRCLen)
			p.Seal(7, buf[:bthLen], [][]byte{buf[bthLen : bthLen+payload]}, buf[bthLen+payload:])
			b.SetBytes(int64(payload))
			b.ReportAllocs()
			for b.Loop() {
				f(&p, buf)
			}
		})
	}
}
