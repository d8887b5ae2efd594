//go:build !linux

package demo

import (
	"errors"
	"fmt"
	"runtime"
)

// newStreet needs Linux' network namespaces.
func newStreet(name string, _ OpenLink) (network, error) {
	return network{}, fmt.Errorf("--link %s: network namespaces are Linux': %w on %s; use --link %s",
		name, errors.ErrUnsupported, runtime.GOOS, Sim)
}
