package outbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// content is the bytes of packets as the kernel would gather them.
func content(b *Box[int], first, n int) (all []byte) {
	iovs := make([]unix.Iovec, MaxPieces(n))
	for _, v := range iovs[:b.Pieces(iovs, first, n)] {
		all = append(all, unsafe.Slice(v.Base, v.Len)...)
	}
	return all
}
