package xdp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolChannels is the kernel's struct of that name: numbers of queues.
type ethtoolChannels struct {
	command                                  uint32
	maxRx, maxTx, maxOther, maxCombined      uint32
	rxCount, txCount, otherCount, combinedNo uint32
}

// ifreq is the kernel's struct of that name, with a pointer in its union.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// channels is the number of receive queues that an interface has in use, of those it
// may have; 0 if its driver does not say.
func channels(itf string) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	c := ethtoolChannels{command: unix.ETHTOOL_GCHANNELS}
	r := ifreq{data: unsafe.Pointer(&c)}
	copy(r.name[:len(r.name)-1], itf)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	if errno != 0 {
		return 0
	}
	return int(c.rxCount + c.combinedNo)
}
