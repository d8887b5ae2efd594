package mr

// view is what a key opens: a region, or the part of one that a window shows. It
// does not change while it is in the table.
type view struct {
	key    Key
	pd     PD
	access Access
	base   uint64
	buf    []byte

	window *Window // the window that is bound, nil: a region
	qpn    uint32  // of a window: the queue pair that it serves, no other
}

// holds reports whether [va, va+n) lies in the view, for n > 0. No step can
// overflow: base+len was checked at registration.
func (v *view) holds(va, n uint64) bool {
	size := uint64(len(v.buf))
	return va >= v.base && n <= size && va-v.base <= size-n
}

// open makes the checks that regions and windows have in common, all but the key.
func (v *view) open(pd PD, va, n uint64, need Access) (Span, Fault) {
	switch {
	case v.pd != pd:
		return Span{}, FaultPD
	case v.access&need != need:
		return Span{}, FaultAccess
	case !v.holds(va, n):
		return Span{}, FaultRange
	}
	off := va - v.base
	return Span{Bytes: v.buf[off : off+n : off+n], Polled: v.access&Polled != 0}, NoFault
}
