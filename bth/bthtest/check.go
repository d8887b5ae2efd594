package bthtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
)

// Parse parses a packet, BTH to pad, and fails the test if that is an error.
func Parse(t testing.TB, b []byte) *bth.Packet {
	t.Helper()
	p := new(bth.Packet)
	require.NoError(t, p.Parse(b, nil), "packet % x", b)
	return p
}

// Equal fails the test if the packets differ on the wire: fields that the opcode
// does not have, reserved bits and the pieces of the payload do not matter.
func Equal(t testing.TB, want, got *bth.Packet) {
	t.Helper()
	require.Equal(t, canonical(t, want), canonical(t, got))
}

func canonical(t testing.TB, p *bth.Packet) *bth.Packet {
	t.Helper()
	require.True(t, p.Opcode.Known(), "%v", p.Opcode)
	return Parse(t, Encode(p))
}
