package mmsg

import "cmp"

// Pace is how many messages the next receive call asks for: one while they come
// singly, since each more that is asked for in vain costs time; twice as many when
// all that were asked for came, as long as a call moves no more than Bytes.
type Pace struct {
	Bytes int // 0: MaxBytes
	next  int
}

// Next is the number to ask for, at least 1.
func (p *Pace) Next() int { return max(p.next, 1) }

// Note takes the result of a call that asked for so many and got so many of so many
// bytes in all; most bounds the next.
func (p *Pace) Note(asked, got, bytes, most int) {
	limit := cmp.Or(p.Bytes, MaxBytes)
	switch {
	case got < asked:
		p.next = got
	case bytes > limit:
		p.next = got / 2
	case got == p.Next() && 2*bytes <= limit:
		p.next = min(2*got, most)
	}
}
