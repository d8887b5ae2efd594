package flowsim

// ring is a queue that grows as it must. The zero ring is empty.
type ring[T any] struct {
	slots     []T // a power of two
	head, len int
}

// first is the oldest entry of a ring that has one.
func (r *ring[T]) first() T { return r.slots[r.head] }

// pop takes the oldest entry off.
func (r *ring[T]) pop() T {
	v := r.slots[r.head]
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.len--
	return v
}

func (r *ring[T]) push(v T) {
	if r.len == len(r.slots) {
		r.grow()
	}
	r.slots[(r.head+r.len)&(len(r.slots)-1)] = v
	r.len++
}

func (r *ring[T]) grow() {
	larger := make([]T, max(64, 2*len(r.slots)))
	n := copy(larger, r.slots[r.head:])
	copy(larger[n:], r.slots[:r.head])
	r.slots, r.head = larger, 0
}
