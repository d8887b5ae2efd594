package roce_test

import (
	"net"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/wire"
)

// forgedCNPs is how many each sender gets: as many as a socket holds.
const forgedCNPs = 100

// forge sends CNPs to the senders' queue pairs in the receiver's name, and waits until
// they have been dealt with.
func (j *jam) forge() {
	for _, f := range j.flows {
		forger := j.newForger(j.Receiver, f.from)
		for range forgedCNPs {
			forger.cnp(f.source.qp.QPN())
		}
		forger.close()
		f.await(forgedCNPs)
	}
}

// forged is how many CNPs were forged.
func (j *jam) forged() uint64 {
	if j.dcqcn {
		return 0
	}
	return uint64(len(j.flows) * forgedCNPs)
}

// forger sends packets from a host's interface that the host's stack knows nothing of.
type forger struct {
	j    *jam
	fd   int
	path wire.Path
}

// newForger forges packets of one host to another.
func (j *jam) newForger(from, to *netns.Host) *forger {
	j.Helper()
	f := &forger{j: j, path: wire.Path{
		Src: j.addr(from), Dst: j.addr(to), SrcPort: 0xc000, TrafficClass: 48 << 2,
		SrcMAC: j.macOf(from), DstMAC: j.macOf(to),
	}}
	f.path.Prepare()
	require.NoError(j, from.Do(func() (err error) {
		itf, err := net.InterfaceByName(from.Interface)
		if err != nil {
			return err
		}
		if f.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(f.fd, &unix.SockaddrLinklayer{Ifindex: itf.Index})
	}))
	return f
}

// macOf is the address of a host's interface.
func (j *jam) macOf(h *netns.Host) (mac wire.MAC) {
	j.Helper()
	require.NoError(j, h.Do(func() error {
		itf, err := net.InterfaceByName(h.Interface)
		if err != nil {
			return err
		}
		mac = wire.MAC(itf.HardwareAddr)
		return nil
	}))
	return mac
}

// cnp sends a CNP to a queue pair.
func (f *forger) cnp(qpn uint32) {
	p := bth.Packet{Opcode: bth.CNP, PKey: bth.DefaultPKey, DestQP: qpn, BECN: true}
	payload := make([]byte, bth.BTHLen+bth.CNPReservedLen+wire.ICRCLen)
	n := p.PutHeaders(payload)
	f.path.Seal(0, payload[:n], nil, payload[n:])
	h := f.path.Headers(0)
	_, err := unix.Write(f.fd, append(h.AppendFrame(nil, len(payload)), payload...))
	must(err)
}

func (f *forger) close() { must(unix.Close(f.fd)) }
