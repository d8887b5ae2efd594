//go:build !linux

package ethtool

// StripsVLAN needs Linux.
func StripsVLAN(string) bool { return false }
