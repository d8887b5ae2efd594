package mr_test

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/mr"
)

func TestAtomicsInHostByteOrder(t *testing.T) {
	b := aligned(16, 0)
	mr.StoreUint64(b[8:], 41)
	require.EqualValues(t, 41, binary.NativeEndian.Uint64(b[8:]))
	require.EqualValues(t, 41, mr.FetchAdd(b[8:], 1))
	require.EqualValues(t, 42, mr.FetchAdd(b[8:], ^uint64(0)), "adding -1")
	require.EqualValues(t, 41, mr.CompareSwap(b[8:], 40, 7), "unequal: returns the value")
	require.EqualValues(t, 41, mr.LoadUint64(b[8:]), "and leaves it")
	require.EqualValues(t, 41, mr.CompareSwap(b[8:], 41, 7), "equal: returns the old value")
	require.EqualValues(t, 7, mr.LoadUint64(b[8:]), "and swaps")
	require.Zero(t, mr.LoadUint64(b), "the neighbour is untouched")
}

func TestFetchAddLosesNothing(t *testing.T) {
	b := aligned(8, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				mr.FetchAdd(b, 1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 4000, mr.LoadUint64(b))
}

// Every length and every alignment of the destination: the bytes are right, and
// nothing beside them changes.
func TestPlaceAtEveryAlignment(t *testing.T) {
	src := []byte("0123456789abcdefghijklmnopqrstuv")
	for _, polled := range []bool{false, true} {
		for _, last := range []bool{false, true} {
			for skew := range 8 {
				for n := range len(src) + 1 {
					buf := aligned(64, skew)
					mr.Place(mr.Span{Bytes: buf[8:56], Polled: polled}, src[:n], last)
					require.Equal(t, src[:n], buf[8:8+n], "skew %d, %d bytes", skew, n)
					require.Equal(t, make([]byte, 8), buf[:8])
					require.Equal(t, make([]byte, 64-8-n), buf[8+n:])
				}
			}
		}
	}
}

// A reader that sees the last word of a message sees all of it. The message is
// checked only after the word arrived, so under the race detector this also proves
// the edge from Place to LoadUint64.
func TestPolledWordComesLast(t *testing.T) {
	const rounds = 200
	for round := uint64(1); round <= rounds; round++ {
		buf := aligned(64, 0)
		msg := bytes.Repeat([]byte{byte(round)}, 64)
		binary.NativeEndian.PutUint64(msg[56:], round)
		go mr.Place(mr.Span{Bytes: buf, Polled: true}, msg, true)
		for mr.LoadUint64(buf[56:]) != round {
		}
		require.Equal(t, msg[:56], buf[:56])
	}
}
