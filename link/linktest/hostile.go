package linktest

import (
	"bytes"

	"github.com/rocinante-rdma/roce/wire"
)

// hostile: whatever a peer sends arrives as it is or not at all, and the link goes
// on.
func hostile(b *bench) {
	if b.Inject == nil {
		b.Skip("the pair cannot inject what is no packet")
	}
	var injected [][]byte
	for n := range 40 {
		raw := make([]byte, n)
		fill(b, raw)
		injected = append(injected, raw)
	}
	for _, n := range []int{b.largest(), b.A.MTU() - ipLen} {
		raw := make([]byte, n)
		fill(b, raw)
		injected = append(injected, raw)
	}
	for i, raw := range injected {
		b.noError(b.Inject(raw), "Inject")
		good := b.packet(uint32(i), headLen, 33, 1)
		b.a.send(good, true)
		b.sift(raw, good)
	}
	b.Logf("%d payloads injected", len(injected))
}

// flood: any number of payloads that are no packets leaves room for what is one,
// though nothing is released where nothing was received.
func flood(b *bench) {
	if b.Inject == nil {
		b.Skip("the pair cannot inject what is no packet")
	}
	raw := make([]byte, min(b.A.MTU()-ipLen, 60_000))
	fill(b, raw)
	for range 1000 {
		b.noError(b.Inject(raw), "Inject")
		for b.Pass != nil && b.Pass() {
		}
		if b.b.q.Recv(b.b.rx[:]) > 0 {
			b.b.q.Release()
		}
	}
	good := b.packet(1, headLen, 33, 1)
	b.a.send(good, true)
	b.find(good)
}

// sift receives until the good packet has come; all else must begin with the raw
// bytes, behind which there may be an ICRC.
func (b *bench) sift(raw []byte, good *packet) {
	b.Helper()
	for found := false; !found; {
		for i := range b.b.rx[:b.b.look()] {
			eachPacket(&b.b.rx[i], func(_ int, p [2][]byte) {
				got := bytes.Join(p[:], nil)
				if len(got) <= len(raw)+wire.ICRCLen && bytes.HasPrefix(got, raw) {
					return
				}
				b.same("packet behind an injected one", received{bytes: got}, good)
				found = true
			})
		}
		b.b.q.Release()
	}
}
