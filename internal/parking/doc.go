// Package parking puts a queue to sleep until a packet arrives on one of its
// sockets, a deadline passes or someone wakes it.
//
// A [Spot] is an epoll of its own. The sockets are armed there only while the queue
// is parked, and Go's poller sees nothing but that epoll: a socket left in Go's
// poller would wake an idle thread for every packet, at the cost of the goroutine
// that spins for it. The deadline is a timerfd because Go's timers are a millisecond
// late when the process is idle.
package parking
