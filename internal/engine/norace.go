//go:build !race

package engine

// The race detector needs help to see the network: see race.go.
func flushing() {}
func received() {}
