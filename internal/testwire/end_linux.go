package testwire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/sockopt"
)

// bufferSize is what an end's socket buffers up to, in bytes: more than the windows of
// the queue pairs of a test.
const bufferSize = 64 << 20

// maxMessage holds the longest super-frame, and its headers.
const maxMessage = vnetLen + 1<<16 + 64

// end is an interface whose frames are taken and given by a packet socket.
type end struct {
	socket  *os.File
	raw     syscall.RawConn
	refused atomic.Uint64 // frames that the kernel did not take
}

// openEnds opens the interfaces in the middle of a star.
func openEnds(s *netns.Star) (ends []*end, err error) {
	err = s.Middle.Do(func() error {
		for _, name := range s.Ends {
			e, err := openEnd(name)
			if err != nil {
				return errors.Join(err, closeEnds(ends))
			}
			ends = append(ends, e)
		}
		return nil
	})
	return ends, err
}

// closeEnds closes them. Its error is, besides, that one has lost frames.
func closeEnds(ends []*end) error {
	var err error
	for _, e := range ends {
		err = errors.Join(err, e.lost(), e.socket.Close())
	}
	return err
}

// openEnd opens an interface of the calling thread's network namespace.
func openEnd(name string) (*end, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("AF_PACKET socket: %w (run as root, or with CAP_NET_RAW)", err)
	}
	if err := prepare(fd, name); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("take the frames of %s: %w", name, err)
	}
	e := &end{socket: os.NewFile(uintptr(fd), name)}
	if e.raw, err = e.socket.SyscallConn(); err != nil {
		return nil, errors.Join(err, e.socket.Close())
	}
	return e, nil
}

func prepare(fd int, name string) error {
	itf, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	for _, option := range []int{unix.PACKET_VNET_HDR, unix.PACKET_IGNORE_OUTGOING} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, option, 1); err != nil {
			return err
		}
	}
	sockopt.GrowReceive(fd, bufferSize)
	sockopt.GrowSend(fd, bufferSize)
	var protocol [2]byte
	binary.BigEndian.PutUint16(protocol[:], unix.ETH_P_ALL)
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16(protocol[:]), Ifindex: itf.Index})
}

// read waits for the next message, until the end is closed. An interface that goes
// down is no end of it.
func (e *end) read(buf []byte) (message, error) {
	for {
		n, err := e.socket.Read(buf)
		if errors.Is(err, unix.ENETDOWN) {
			continue
		}
		return message(buf[:n]), err
	}
}

// write sends a message. What the kernel refuses is counted.
func (e *end) write(m message) {
	if _, err := e.socket.Write(m); err != nil {
		e.refused.Add(1)
	}
}

// writeFrame sends a frame with complete checksums. room is for the message.
func (e *end) writeFrame(frame, room []byte) {
	clear(room[:vnetLen])
	e.write(append(room[:vnetLen], frame...))
}

// lost is an error if frames were lost here since the last call.
func (e *end) lost() error {
	missed, err := e.missed()
	if refused := e.refused.Swap(0); missed+refused > 0 {
		err = errors.Join(err, fmt.Errorf("testwire: lost %d frames that found no room at %s, and %d that it refused",
			missed, e.socket.Name(), refused))
	}
	return err
}

// missed is the number of frames that the socket had no room for since the last call.
func (e *end) missed() (n uint64, err error) {
	cerr := e.raw.Control(func(fd uintptr) {
		var s *unix.TpacketStats
		if s, err = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			n = uint64(s.Drops)
		}
	})
	return n, errors.Join(err, cerr)
}
