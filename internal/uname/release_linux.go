package uname

import "golang.org/x/sys/unix"

// Release is the release of the running kernel, "" if it does not say.
func Release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
