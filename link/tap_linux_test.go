package link_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/wire"
)

// tap is an AF_PACKET socket that sees the frames that come to a host, and can send some.
type tap struct {
	t  *testing.T
	fd int
}

func openTap(t *testing.T, h *netns.Host) *tap {
	t.Helper()
	x := &tap{t: t}
	require.NoError(t, h.Do(func() (err error) {
		x.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		l, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
		return errors.Join(
			unix.SetsockoptInt(x.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
			unix.SetsockoptInt(x.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptInt(x.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
			unix.Bind(x.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Attrs().Index}))
	}))
	t.Cleanup(func() { unix.Close(x.fd) })
	return x
}

// frame is what came: the frame, and the tag that the kernel has taken out of it.
type frame struct {
	bytes []byte
	tag   uint16
}

// frames are those that have come since they were last taken.
func (x *tap) frames() (list []frame) {
	x.t.Helper()
	b, control := make([]byte, 1<<17), make([]byte, 128)
	for {
		n, controlLen, _, _, err := unix.Recvmsg(x.fd, b, control, 0)
		if errors.Is(err, unix.EAGAIN) {
			return list
		}
		require.NoError(x.t, err)
		messages, err := unix.ParseSocketControlMessage(control[:controlLen])
		require.NoError(x.t, err)
		require.Len(x.t, messages, 1)
		aux := (*unix.TpacketAuxdata)(unsafe.Pointer(unsafe.SliceData(messages[0].Data)))
		list = append(list, frame{append([]byte(nil), b[:n]...), aux.Vlan_tci})
	}
}

// isIP reports whether the frame is an IP packet, and where that begins.
func (f frame) isIP() (ip []byte, v6, ok bool) {
	ip = f.bytes[wire.EthernetLen:]
	switch binary.BigEndian.Uint16(f.bytes[12:]) {
	case unix.ETH_P_IP:
		return ip, false, true
	case unix.ETH_P_IPV6:
		return ip, true, true
	}
	return nil, false, false
}

// singly has an interface send each packet in a frame of its own, as cables have them:
// without checksums by the device there are no super-frames.
func singly(t *testing.T, h *netns.Host) {
	t.Helper()
	value := struct{ cmd, data uint32 }{unix.ETHTOOL_STXCSUM, 0}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:], h.Interface)
	require.NoError(t, h.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		if errno != 0 {
			return errno
		}
		return nil
	}))
}
