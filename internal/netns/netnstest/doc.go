// Package netnstest makes the network namespaces of package netns for a test: it skips
// where the machine does not allow them, and lets go of them when the test ends.
package netnstest
