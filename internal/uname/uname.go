// Package uname tells which release of the kernel runs, and whether that is new
// enough.
package uname

import "fmt"

// OlderThan reports whether a kernel's release, such as "6.1.0-37-amd64", is before
// major.minor. One that cannot be read is new.
func OlderThan(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}
