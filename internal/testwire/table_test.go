package testwire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/wire"
)

// A switch floods what goes to many or to a host that it has not heard of, and knows a
// host's port from its first frame on, the new one when it moves. Nothing goes back to
// where it came from, and what is no frame nowhere.
func TestRoute(t *testing.T) {
	frame := func(dst, src byte) []byte {
		f := make([]byte, wire.EthernetLen)
		f[5], f[11] = dst, src
		return f
	}
	toAll := frame(0, 1)
	toAll[0] = 0xff
	var s table
	const ports = 3
	for _, step := range []struct {
		from  int
		frame []byte
		to    []int
	}{
		{0, toAll, []int{1, 2}},
		{0, frame(2, 1), []int{1, 2}},
		{1, frame(1, 2), []int{0}},
		{0, frame(2, 1), []int{1}},
		{2, frame(2, 3), []int{1}},
		{2, frame(1, 2), []int{0}}, // host 2 has moved
		{0, frame(2, 1), []int{2}},
		{2, frame(2, 3), nil},
		{0, frame(2, 1)[:13], nil},
	} {
		require.Equal(t, step.to, s.route(step.from, ports, step.frame))
	}
}
