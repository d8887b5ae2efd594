//go:build !linux

package auto

// stripsTags matters to links that there are on Linux only.
func stripsTags(string) bool { return false }
