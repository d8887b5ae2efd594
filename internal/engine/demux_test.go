package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func newDemux(first uint64) *demux {
	d := &demux{}
	d.init(func() uint64 { return first })
	return d
}

func TestNumbersGoRoundAndRest(t *testing.T) {
	d := newDemux(0xfffffd)
	var given []uint32
	var qps []*QP
	for range 3 {
		q := &QP{}
		require.NoError(t, d.add(q))
		require.Same(t, q, d.find(q.qpn))
		given, qps = append(given, q.qpn), append(qps, q)
	}
	require.Equal(t, []uint32{0xfffffe, 2, 3}, given, "0xffffff is for multicast, 0 and 1 are for management")

	d.remove(qps[1])
	require.Nil(t, d.find(2))
	again := &QP{}
	require.NoError(t, d.add(again))
	require.EqualValues(t, 4, again.qpn, "a freed number rests")

	d.newest = 1
	next := &QP{}
	require.NoError(t, d.add(next))
	require.EqualValues(t, 2, next.qpn, "until it is its turn again")
	d.newest = 2
	another := &QP{}
	require.NoError(t, d.add(another))
	require.EqualValues(t, 5, another.qpn, "numbers in use are left out")
}

func TestNumbersRunOut(t *testing.T) {
	d := newDemux(0)
	d.live = 1<<24 - 3
	require.ErrorIs(t, d.add(&QP{}), ErrNoQPN)
}

// Whatever number a packet names, the look-up is safe.
func TestFindOfAnyNumber(t *testing.T) {
	d := newDemux(100)
	require.NoError(t, d.add(&QP{}))
	for qpn := range uint32(1 << 24) {
		if q := d.find(qpn); (q != nil) != (qpn == 101) {
			t.Fatalf("QPN %d: %v", qpn, q)
		}
	}
}

// Pages of numbers that are all free are given back.
func TestPagesAreFreed(t *testing.T) {
	d := newDemux(5)
	for range 5 * qpnPageSize {
		q := &QP{}
		require.NoError(t, d.add(q))
		d.remove(q)
	}
	for _, p := range d.pages {
		require.Nil(t, p)
	}
}
