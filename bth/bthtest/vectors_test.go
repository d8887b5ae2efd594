package bthtest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/wire"
)

// W02: among the frames of real devices, of a ConnectX and of several kernels, there is one with
// each kind of extension header, over IPv4 and IPv6. Their ICRCs are right as we see it, and
// what we seal has the same to the byte; a changed bit makes it wrong.
func TestICRCsOfEveryKindOfHeader(t *testing.T) {
	kinds := map[string]bth.Flags{
		"RETH": bth.HasRETH, "AETH": bth.HasAETH, "AtomicETH": bth.HasAtomicETH, "AtomicAckETH": bth.HasAtomicAck,
		"immediate": bth.HasImm, "IETH": bth.HasIETH, "CNP": bth.HasCNP,
	}
	seen := map[string]int{}
	for _, f := range bthtest.Frames(t) {
		w := f.Parse(t)
		p := bthtest.Parse(t, f.Packet(t))
		for kind, flag := range kinds {
			if p.Opcode.Is(flag) {
				seen[kind]++
			}
		}
		seen[map[bool]string{true: "IPv4", false: "IPv6"}[w.Src.Is4()]]++
		if p.Opcode.Is(bth.Payload) && p.PayloadLen()%4 != 0 {
			seen["pad"]++
		}
		if strings.Contains(f.Name, "ConnectX") {
			seen["ConnectX"]++
		}
		path := &wire.Path{Src: w.Src, Dst: w.Dst, SrcPort: w.SrcPort}
		path.Prepare()
		require.Equal(t, w.Payload, bthtest.Sealed(path, w.ID, p), f.Name)
		for i := range w.Payload {
			if i == 4 {
				continue // FECN, BECN and reserved bits are not covered
			}
			w.Payload[i] ^= 0x10
			require.False(t, wire.VerifyICRC(w.Src, w.Dst, w.SrcPort, w.Flags, w.ID, [2][]byte{w.Payload}), "%s, byte %d", f.Name, i)
			w.Payload[i] ^= 0x10
		}
	}
	for _, kind := range []string{"RETH", "AETH", "AtomicETH", "AtomicAckETH", "immediate", "IETH", "CNP", "IPv4", "IPv6", "pad", "ConnectX"} {
		require.NotZero(t, seen[kind], "no frame has %s", kind)
	}
	t.Log(seen)
}
