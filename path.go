package roce

import (
	"fmt"

	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// resolve prepares the paths to the peer that the attributes name. Of the traffic class the
// application owns the DSCP, and the stack the ECN bits: data says that switches may mark it
// if the queue pair reacts to marks, and nothing else ever does. Nobody reacts to marked
// acknowledgements.
func (q *QP) resolve(a *QPAttr) (paths engine.Paths, err error) {
	ack, err := q.path(a, wire.NotECT.With(a.TrafficClass))
	if err != nil {
		return paths, err
	}
	data, cnp := ack, ack
	if d := q.cfg.DCQCN; d != nil {
		if data, err = q.path(a, wire.ECT0.With(a.TrafficClass)); err != nil {
			return paths, err
		}
		if cnp, err = q.path(a, wire.NotECT.With(d.dscp()<<2)); err != nil {
			return paths, err
		}
	}
	return engine.Paths{
		transport.ClassRequest: data, transport.ClassReadResponse: data, transport.ClassAck: ack, transport.ClassCNP: cnp,
	}, nil
}

// path prepares the path of what has this traffic class. A GID has no zone: the link knows
// its interface.
func (q *QP) path(a *QPAttr, trafficClass uint8) (*wire.Path, error) {
	p := &wire.Path{
		Src: q.addr, Dst: a.DestAddr.Unmap().WithZone(""), SrcPort: wire.SourcePort(q.QPN(), a.DestQPN),
		TrafficClass: trafficClass, HopLimit: a.HopLimit,
		VLAN: uint16(a.SL) << wire.VLANPriorityShift, // its three low bits
	}
	if err := q.pd.dev.link.Resolve(p); err != nil {
		return nil, fmt.Errorf("roce: %s: %w", q, err)
	}
	p.Prepare()
	return p, nil
}
