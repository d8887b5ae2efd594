// Package hostnet asks the operating system about its network: interfaces, their
// addresses in the order of the verbs' GID table, routes and neighbours, and what of
// these changes. It changes nothing, except that looking for a neighbour makes the
// kernel send an ARP or neighbour solicitation.
//
// Everything is seen from one network namespace: that of the thread which opened the
// [Handle] or [Monitor]. The functions of the package are those of a handle that lives
// for the call, so they look at the namespace of the calling thread.
//
// On systems other than Linux interfaces and addresses can be listed; the rest
// returns an error that says so.
package hostnet
