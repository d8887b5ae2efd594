package outbox

import (
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
)

// MaxPieces is how many pieces n packets have at most.
func MaxPieces(n int) int { return 2*n + 1 }

// Pieces describes n packets from index first on, back to back, and returns the
// number of pieces. They refer to the caller's memory where that is gathered.
func (b *Box[To]) Pieces(iovs []unix.Iovec, first, n int) (pieces int) {
	at := b.packets[first].off
	for i := first; i < first+n; i++ {
		pk := &b.packets[i]
		if pk.gathered == nil {
			continue
		}
		mmsg.SetPiece(&iovs[pieces], b.arena[at:pk.off+pk.head])
		mmsg.SetPiece(&iovs[pieces+1], pk.gathered)
		at = pk.off + pk.Size - pk.tail
		pieces += 2
	}
	last := &b.packets[first+n-1]
	mmsg.SetPiece(&iovs[pieces], b.arena[at:last.off+last.Size])
	return pieces + 1
}
