package congestionlab

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
)

// receiverName is the name of the receiver, and of its link.
const receiverName = "receiver"

// lab is a scenario set up: a world with a receiver, behind the bottleneck, and one device
// for each flow.
type lab struct {
	*Scenario
	world    *simnet.World
	port     *simnet.Link // the receiver's
	receiver *station
	flows    []*flow
	byName   map[string]*flow
	err      error // of the first flow that failed

	mostFrames uint64 // that all devices together may send
}

// station is a device with what a queue pair needs.
type station struct {
	dev *roce.Device
	pd  *roce.PD
	mr  *roce.MR
}

// newLab sets a scenario up. rec, unless it is nil, records what tells of congestion.
func newLab(s *Scenario, rec *trace.Recorder) (l *lab, err error) {
	l = &lab{Scenario: s, world: simnet.New(s.Seed), byName: make(map[string]*flow), mostFrames: maxFrames}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	l.port = l.link(receiverName, 1, simnet.Buffer(s.Buffer), simnet.Marking(s.RED))
	if l.receiver, err = l.open(receiverName, l.port, rec); err != nil {
		return l, err
	}
	for i := range s.Senders {
		f := &flow{number: i + 1, start: s.Starts.Of(i)}
		l.flows, l.byName[f.String()] = append(l.flows, f), f
		if f.station, err = l.open(f.String(), l.link(f.String(), 2+i), rec); err != nil {
			return l, err
		}
		if err = f.connect(l); err != nil {
			return l, err
		}
	}
	return l, nil
}

// link attaches a link of the scenario's rate with an address of its own.
func (l *lab) link(name string, host int, opts ...simnet.LinkOption) *simnet.Link {
	opts = append(opts, simnet.MTU(linkMTU), simnet.Bandwidth(l.Rate), simnet.Latency(l.Delay/2))
	return l.world.Link(name, netip.AddrFrom4([4]byte{10, 0, 0, byte(host)}), opts...)
}

// linkMTU carries every path MTU.
const linkMTU = 4200

// open makes the station on a link, which rec knows by this name.
func (l *lab) open(name string, link *simnet.Link, rec *trace.Recorder) (st *station, err error) {
	opts := []roce.Option{roce.Manual()}
	if rec != nil {
		opts = append(opts, roce.WithTap(trace.Only(rec.Device(name), trace.Congestion)))
	}
	st = &station{}
	if st.dev, err = roce.Open(link, opts...); err != nil {
		return nil, err
	}
	l.world.Attach(st.dev)
	if st.pd, err = st.dev.AllocPD(); err != nil {
		return st, err
	}
	st.mr, err = st.pd.RegMR(make([]byte, l.Message), roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessRemoteRead)
	return st, err
}

// close closes the devices.
func (l *lab) close() (err error) {
	for _, f := range l.flows {
		if f.station != nil {
			err = errors.Join(err, f.station.dev.Close())
		}
	}
	if l.receiver != nil {
		err = errors.Join(err, l.receiver.dev.Close())
	}
	if err != nil {
		return fmt.Errorf("closing the devices: %w", err)
	}
	return nil
}
