package ethtool

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getFlags   = 0x25   // ETHTOOL_GFLAGS
	flagRxVLAN = 1 << 8 // ETH_FLAG_RXVLAN
)

// StripsVLAN reports whether an interface takes the VLAN tag out of a received frame
// and gives it beside (`ethtool -k` calls it rx-vlan-offload).
func StripsVLAN(ifname string) bool {
	value := struct{ command, data uint32 }{command: getFlags} // struct ethtool_value
	return ask(ifname, unsafe.Pointer(&value)) && value.data&flagRxVLAN != 0
}

// RxQueues is the number of receive queues that an interface has in use, of those it
// may have (`ethtool -l`); 0 if its driver does not say.
func RxQueues(ifname string) int {
	// struct ethtool_channels
	channels := struct {
		command                                  uint32
		maxRx, maxTx, maxOther, maxCombined      uint32
		rxCount, txCount, otherCount, combinedNo uint32
	}{command: unix.ETHTOOL_GCHANNELS}
	if !ask(ifname, unsafe.Pointer(&channels)) {
		return 0
	}
	return int(channels.rxCount + channels.combinedNo)
}

// Speed is the speed of an interface's link in Mbit/s (`ethtool` says so too); 0 if its
// driver does not say. Drivers of virtual interfaces say anything.
func Speed(ifname string) int {
	settings := struct { // struct ethtool_cmd
		command, _, _ uint32
		low           uint16
		_             [6]byte
		_, _          uint32
		high          uint16
		_             [14]byte
	}{command: unix.ETHTOOL_GSET}
	const unknown = -1
	speed := int32(0)
	if ask(ifname, unsafe.Pointer(&settings)) {
		speed = int32(uint32(settings.high)<<16 | uint32(settings.low))
	}
	if speed == unknown {
		return 0
	}
	return int(speed)
}

// ask has the kernel fill in what a command asks for, and reports whether it did.
func ask(ifname string, command unsafe.Pointer) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	request := struct { // struct ifreq, with a pointer in its union
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: command}
	copy(request.name[:len(request.name)-1], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return errno == 0
}
