package raw

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// tap is a plain AF_PACKET socket on one end of the cable: it sends any frame, and
// sees what arrives, with the tags put back.
type tap struct {
	t   testing.TB
	fd  int
	mac wire.MAC
}

func openTap(ns namespace, ifname string) *tap {
	ns.t.Helper()
	x := &tap{t: ns.t}
	ns.do(func() {
		itf, err := netlink.LinkByName(ifname)
		require.NoError(ns.t, err)
		x.mac = wire.MAC(itf.Attrs().HardwareAddr)
		x.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		require.NoError(ns.t, err)
		for _, name := range []int{unix.PACKET_AUXDATA, unix.PACKET_IGNORE_OUTGOING} {
			require.NoError(ns.t, unix.SetsockoptInt(x.fd, unix.SOL_PACKET, name, 1))
		}
		require.NoError(ns.t, unix.Bind(x.fd, &unix.SockaddrLinklayer{
			Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: itf.Attrs().Index}))
	})
	ns.t.Cleanup(func() { unix.Close(x.fd) })
	return x
}

func (x *tap) send(frame []byte) {
	x.t.Helper()
	_, err := unix.Write(x.fd, frame)
	require.NoError(x.t, err)
}

// next returns the next frame that arrives; its tag is 0 if it had none. A frame that
// does not come is a failure, not a hang.
func (x *tap) next() (frame []byte, tag uint16) {
	x.t.Helper()
	require.NoError(x.t, unix.SetsockoptTimeval(x.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	frame, tag, err := x.recv(0)
	require.NoError(x.t, err)
	return frame, tag
}

// all returns the frames that have arrived.
func (x *tap) all() (frames [][]byte) {
	x.t.Helper()
	for {
		frame, _, err := x.recv(unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return frames
		}
		require.NoError(x.t, err)
		frames = append(frames, frame)
	}
}

func (x *tap) recv(flags int) (frame []byte, tag uint16, err error) {
	b, control := make([]byte, 1<<17), make([]byte, 256)
	n, controlLen, _, _, err := unix.Recvmsg(x.fd, b, control, flags)
	if err != nil {
		return nil, 0, err
	}
	parsed, ok := tagOf(control[:controlLen])
	require.True(x.t, ok)
	return b[:n], parsed.TCI, nil
}

// nextRoCE skips what is no RoCEv2.
func (x *tap) nextRoCE() (frame []byte, tag uint16, f wire.Frame) {
	x.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		frame, tag = x.next()
		if f, err := wire.ParseFrame(frame); err == nil && f.DstPort == wire.Port {
			return frame, tag, f
		}
	}
	x.t.Fatal("no RoCEv2 frame arrived")
	return nil, 0, wire.Frame{}
}

// headers are those of a RoCEv2 packet from the tap to an interface.
func (x *tap) headers(to wire.MAC, src, dst string) wire.Headers {
	p := wire.Path{Src: addr(src), Dst: addr(dst), SrcPort: 0xc321, SrcMAC: x.mac, DstMAC: to}
	return p.Headers(0)
}

// rocePacket is a frame with such headers and one sealed packet.
func rocePacket(h wire.Headers, tag byte, n int) []byte {
	p := wire.Path{Src: h.Src, Dst: h.Dst, SrcPort: h.SrcPort}
	p.Prepare()
	head, tail := make([]byte, 12), make([]byte, wire.ICRCLen)
	for i := range head {
		head[i] = tag
	}
	body := make([]byte, n)
	p.Seal(h.ID, head, [][]byte{body}, tail)
	return append(append(append(h.AppendFrame(nil, len(head)+n+len(tail)), head...), body...), tail...)
}
