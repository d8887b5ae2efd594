// Package netns makes network namespaces joined by veth pairs, where programs can be
// tried without touching the host's network: as root, on Linux. Namespaces have no
// name: they last as long as somebody holds them, and nothing of them is left when
// the process ends, however it ends.
package netns
