package rc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// PSNs go round after 2^24 packets. A resource that nothing has replaced since may
// have the PSN of a newer one: a duplicate is of the newer.
func TestNewestResourceIsFound(t *testing.T) {
	var r replay
	r.start(4)
	for turn := range uint64(6) { // around the ring, too
		r.add(answer{atomic: true, first: 7, last: 7, result: turn})
		require.Equal(t, turn, r.find(7, true).result)
		r.done(r.oldest())
	}
}
