//go:build !race

package testenv

// Race is true in binaries with the race detector, which makes code several times
// slower and adds allocations: heavy tests do fewer rounds, and allocation counts
// prove nothing.
const Race = false
