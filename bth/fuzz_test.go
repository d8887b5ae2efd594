package bth_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/internal/fuzzing"
)

var fuzzed, again bth.Packet

// fuzzParse breaks if Parse reads beyond what it was given, if it accepts less than
// the headers and the pad, or if what it accepts is not rebuilt to the same packet:
// the same bytes, once reserved bits are zero. The first byte says where the packet
// is cut into two pieces.
func fuzzParse(b []byte) {
	if len(b) == 0 {
		return
	}
	cut := min(int(b[0]), len(b)-1)
	b = b[1:]
	p := &fuzzed
	if p.Parse(b[:cut:cut], b[cut:]) != nil {
		if p.PayloadLen() != 0 {
			panic("refused, but there is payload")
		}
		return
	}
	if p.Opcode.HeaderLen()+p.PayloadLen()+int(p.Pad) != len(b) {
		panic("headers, payload and pad are not the packet")
	}
	var first, second [bth.MaxHeaderLen]byte
	n := p.PutHeaders(first[:])
	if err := again.Parse(first[:n], b[n:]); err != nil {
		panic(fmt.Sprintf("what was rebuilt does not parse: %v", err))
	}
	again.PutHeaders(second[:])
	if first != second || !bytes.Equal(joined(p), joined(&again)) {
		panic("a packet changes when it is rebuilt")
	}
}

// joined is the payload in one piece.
func joined(p *bth.Packet) []byte {
	if len(p.Payload[1]) == 0 {
		return p.Payload[0]
	}
	return append(bytes.Clone(p.Payload[0]), p.Payload[1]...)
}

// parseSeeds are captured frames and one packet of every opcode, in one piece and
// cut behind the headers.
func parseSeeds(t testing.TB) [][]byte {
	t.Helper()
	seeds := [][]byte{{}, {0}}
	for _, frame := range bthtest.Frames(t) {
		seeds = append(seeds, append([]byte{255}, frame.Packet(t)...))
	}
	for _, op := range known() {
		packet := bthtest.Build(op, bthtest.Pattern(5))
		seeds = append(seeds, append([]byte{255}, packet...), append([]byte{byte(op.HeaderLen())}, packet...))
	}
	return seeds
}

func FuzzParse(f *testing.F) {
	for _, s := range parseSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzParse(b) })
}

func TestDriveParse(t *testing.T) { fuzzing.Drive(t, "bth.FuzzParse", parseSeeds(t), fuzzParse) }
