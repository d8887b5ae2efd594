package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

const (
	probeLen       = 60     // bytes: the shortest Ethernet frame, without its checksum
	probeEtherType = 0x88b5 // for local experiments: IEEE 802, clause 9.2.4
	probePatience  = 1000   // milliseconds
)

// errUnsent is what the driver of a socket did not do.
var errUnsent = errors.New("the driver bound the socket but did not send")

// Probe opens a link as [Open] does, has it send one frame, and closes it. It returns
// what the link got, or why there is none; that a driver took the queues and sent
// nothing within a second is an error too.
//
// The frame goes from the interface's MAC to the same, so that no other host takes
// it and no switch learns what is not so, and has the EtherType for local experiments.
func Probe(ifname string, opts ...Option) (Setup, error) {
	l, err := Open(ifname, opts...)
	if err != nil {
		return Setup{}, err
	}
	setup := l.Setup()
	err = l.port.sockets[0].sendOne(probeFrame(l.nic.MAC()))
	if err = errors.Join(err, l.Close()); err != nil {
		return Setup{}, fmt.Errorf("xdp: probe %s: %w", ifname, err)
	}
	return setup, nil
}

func probeFrame(mac wire.MAC) []byte {
	frame := make([]byte, probeLen)
	copy(frame, mac[:])
	copy(frame[len(mac):], mac[:])
	binary.BigEndian.PutUint16(frame[2*len(mac):], probeEtherType)
	return frame
}

// sendOne sends a frame on a socket that sends nothing else, and waits until the driver
// is through with it.
func (s *socket) sendOne(frame []byte) error {
	copy(s.tx.chunk(len(frame), 0), frame)
	s.tx.publish()
	for range probePatience {
		switch errno := kickTx(s.fd); errno {
		case 0, unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
		case unix.EBUSY:
			if !s.zeroCopy { // the kernel is through with the frame: the device refused it
				return fmt.Errorf("%s: %w: is there a cable? (`ip link show dev %s`)", s.name(), errUnsent, s.itf)
			}
		case unix.ENETDOWN:
			return fmt.Errorf("%s: the interface is down: `ip link set dev %s up`", s.name(), s.itf)
		default:
			return s.sendError(errno)
		}
		if s.tx.reap(); s.tx.used() == 0 {
			return nil
		}
		s.waitMillisecond()
	}
	return fmt.Errorf("%s: %w within %d ms: use the generic mode or copies, or the raw link", s.name(), errUnsent, probePatience)
}

// waitMillisecond waits: no event of a socket tells of completions.
func (s *socket) waitMillisecond() {
	poll := []unix.PollFd{{Fd: int32(s.fd)}}
	_, _ = unix.Ppoll(poll, &unix.Timespec{Nsec: 1e6}, nil) // cut short by a signal, it waits less
}
