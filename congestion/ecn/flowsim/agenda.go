package flowsim

// agenda orders flows by when they act next: a heap of four children, whose first entry
// is replaced in place, which is all that ever happens to it.
type agenda []entry

type entry struct {
	at   instant
	flow int32
}

// fanOut is the number of an entry's children.
const fanOut = 4

// makeAgenda takes the entries in any order.
func makeAgenda(entries []entry) agenda {
	a := agenda(entries)
	for i := len(a) - 1; i >= 0; i-- {
		a.sink(i)
	}
	return a
}

// postpone gives the first entry a later time.
func (a agenda) postpone(at instant) {
	a[0].at = at
	a.sink(0)
}

// sink moves an entry down to where none of its children is earlier.
func (a agenda) sink(i int) {
	e := a[i]
	for {
		first := fanOut*i + 1
		if first >= len(a) {
			break
		}
		least := first
		for child := first + 1; child < min(first+fanOut, len(a)); child++ {
			if a[child].at < a[least].at {
				least = child
			}
		}
		if a[least].at >= e.at {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = e
}
