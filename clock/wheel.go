package clock

import "math/bits"

// A slot of a wheel is as long as a tick, 1.024 µs, and a revolution 1.05 ms.
const (
	tickBits  = 10
	slotBits  = 10
	slotCount = 1 << slotBits
	slotMask  = slotCount - 1
	wordBits  = 64
)

// duePlace is the place of timers that are due: behind all slots.
const duePlace = slotCount

// Wheel holds timers until they are due: a hashed timing wheel. Setting and removing one
// takes constant time and allocates nothing, whatever the number of others; so the wheel is
// for timers that are set anew all the time, such as when the next packet may leave. They
// come out no earlier than they are due, to the nanosecond. Those beyond a revolution are moved
// once a revolution.
//
// The zero Wheel is empty and ready; it takes 24 KiB from the first Set on. It is not safe
// for concurrent use.
type Wheel[T any] struct {
	slots    []timers[T] // slotCount of them, and those that are due
	occupied [slotCount / wordBits]uint64
	tick     int64 // of the present: all slots before it are empty
	count    int
}

// Timer is a part of what a wheel holds, so that holding it takes no memory. Value leads
// back to it, and is the user's to set. The zero Timer is in no wheel. It must not be copied
// while it is in one.
type Timer[T any] struct {
	Value T

	at         Time
	place      int // in slots + 1; 0: in no wheel
	prev, next *Timer[T]
}

// timers are those of one slot, in the order of Set.
type timers[T any] struct {
	first, last *Timer[T]
	earliest    Time // none is due before it
}

// Set puts a timer into the wheel, or moves it there, to be due at an instant.
func (w *Wheel[T]) Set(t *Timer[T], at Time) {
	w.Remove(t)
	if w.slots == nil {
		w.slots = make([]timers[T], slotCount+1)
	}
	t.at = at
	w.put(t)
	w.count++
}

// Remove takes a timer out, if it is in the wheel.
func (w *Wheel[T]) Remove(t *Timer[T]) {
	if t.place == 0 {
		return
	}
	i := t.place - 1
	w.slots[i].remove(t)
	if w.slots[i].first == nil {
		w.vacate(i)
	}
	w.count--
}

// Pop takes out a timer that is due and returns its value; ok is false if there is none.
// What is due earlier comes first, to the tick; what is due in the same tick comes in the
// order of Set.
func (w *Wheel[T]) Pop(now Time) (value T, ok bool) {
	if w.count == 0 {
		w.tick = tickOf(now)
		return value, false
	}
	if w.slots[duePlace].first == nil {
		w.advance(now)
	}
	t := w.slots[duePlace].first
	if t == nil {
		return value, false
	}
	w.slots[duePlace].remove(t)
	w.count--
	return t.Value, true
}

// Next is when the first timer is due, however far that is, or, if some were removed,
// perhaps earlier; after a Pop that found none it lies in the future. It is Never if the
// wheel is empty.
func (w *Wheel[T]) Next() Time {
	if w.count == 0 {
		return Never
	}
	if due := &w.slots[duePlace]; due.first != nil {
		return due.earliest
	}
	// Slots have timers beyond a revolution, too, and then a later slot's may be due before.
	next := Never
	for tick, ok := w.firstOccupied(w.tick); ok; tick, ok = w.firstOccupied(tick + 1) {
		next = min(next, w.slots[tick&slotMask].earliest)
		if tickOf(next) <= tick {
			break
		}
	}
	return next
}

// tickOf is the tick that an instant lies in.
func tickOf(t Time) int64 { return int64(t) >> tickBits }

// put puts a timer into the slot of its tick, or of the nearest tick that the wheel has.
func (w *Wheel[T]) put(t *Timer[T]) {
	i := int(min(max(tickOf(t.at), w.tick), w.tick+slotCount-1) & slotMask)
	w.slots[i].append(t, i)
	w.occupied[i/wordBits] |= 1 << (i % wordBits)
}

// vacate notes that a slot is empty.
func (w *Wheel[T]) vacate(i int) {
	if i != duePlace {
		w.occupied[i/wordBits] &^= 1 << (i % wordBits)
	}
}

// advance makes an instant the present, and moves what is due by then to its place.
func (w *Wheel[T]) advance(now Time) {
	present := tickOf(now)
	for {
		tick, ok := w.firstOccupied(w.tick)
		if !ok || tick > present {
			w.tick = max(w.tick, present)
			return
		}
		i := int(tick & slotMask)
		if tick == present {
			w.tick = present
			if w.slots[i].earliest <= now {
				w.sort(i, now)
			}
			return
		}
		w.tick = tick + 1
		w.sort(i, Time(w.tick)<<tickBits-1)
	}
}

// sort empties a slot: what is due by now goes to its place, what is not to its present
// slot.
func (w *Wheel[T]) sort(i int, now Time) {
	t := w.slots[i].first
	w.slots[i] = timers[T]{}
	w.vacate(i)
	for t != nil {
		next := t.next
		if t.at <= now {
			w.slots[duePlace].append(t, duePlace)
		} else {
			w.put(t)
		}
		t = next
	}
}

// firstOccupied is the tick of the first slot that is not empty, from a tick on that is not
// before the present.
func (w *Wheel[T]) firstOccupied(from int64) (tick int64, ok bool) {
	for end := w.tick + slotCount; from < end; from = from&^(wordBits-1) + wordBits {
		i := from & slotMask
		if set := w.occupied[i/wordBits] >> (i % wordBits); set != 0 {
			tick = from + int64(bits.TrailingZeros64(set))
			return tick, tick < end
		}
	}
	return 0, false
}

func (l *timers[T]) append(t *Timer[T], place int) {
	t.place, t.prev, t.next = place+1, l.last, nil
	if l.last == nil {
		l.first, l.earliest = t, t.at
	} else {
		l.last.next = t
		l.earliest = min(l.earliest, t.at)
	}
	l.last = t
}

func (l *timers[T]) remove(t *Timer[T]) {
	if t.prev == nil {
		l.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.place, t.prev, t.next = 0, nil, nil
}
