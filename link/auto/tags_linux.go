package auto

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getFlags   = 0x25   // ETHTOOL_GFLAGS
	flagRxVLAN = 1 << 8 // ETH_FLAG_RXVLAN
)

// stripsTags reports whether an interface takes the VLAN tag out of a received frame
// and gives it beside (`ethtool -k` calls it rx-vlan-offload).
func stripsTags(itf string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	value := struct{ command, data uint32 }{command: getFlags} // struct ethtool_value
	request := struct {                                        // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:len(request.name)-1], itf)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return errno == 0 && value.data&flagRxVLAN != 0
}
