package trace

import (
	"fmt"
	"net/netip"
	"slices"
)

// columns gives devices, and peers that are not recorded, their columns.
type columns struct {
	stats   Stats
	home    map[netip.Addr]int // device of an address
	devices []string           // names of the devices' columns
	peers   []netip.Addr       // with a column of their own
	crowd   bool               // further peers share a column
	manyQPs bool               // words must say which QP they are about
}

// fewColumns is up to how many columns peers get one of their own.
const fewColumns = 3

const otherPeers = "other peers"

func newColumns(l *Ladder, s Stats) *columns {
	c := &columns{stats: s, home: l.home}
	for i, d := range s.Devices {
		c.devices = append(c.devices, d.Name+c.onlyQP(l.qps[i]))
	}
	for _, p := range l.packets {
		c.addPeer(p.sender, p.from)
		c.addPeer(p.receiver, p.to)
	}
	if room := max(1, fewColumns-len(s.Devices)); len(c.peers) > room {
		c.peers, c.crowd = c.peers[:room-1], true
	}
	return c
}

// onlyQP names the QP in the column's heading if the device has just one;
// otherwise the words of every packet must.
func (c *columns) onlyQP(qpns []uint32) string {
	switch len(qpns) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" · QP 0x%x", qpns[0])
	}
	c.manyQPs = true
	return ""
}

func (c *columns) addPeer(device int, a netip.Addr) {
	if c.device(device, a) == nobody && !slices.Contains(c.peers, a) && len(c.peers) <= fewColumns {
		c.peers = append(c.peers, a)
	}
}

// device is the device at a packet's end: the one that told of it, or else the one
// that the address belongs to.
func (c *columns) device(told int, a netip.Addr) int {
	if told != nobody {
		return told
	}
	if d, ours := c.home[a]; ours {
		return d
	}
	return nobody
}

func (c *columns) names() []string {
	names := slices.Clone(c.devices)
	for _, a := range c.peers {
		names = append(names, a.String())
	}
	if c.crowd {
		names = append(names, otherPeers)
	}
	return names
}

// row draws a passage between the columns.
func (c *columns) row(p *passage) Row {
	from, to := c.device(p.sender, p.from), c.device(p.receiver, p.to)
	r := Row{
		Time: p.time, Label: p.label, Run: p.run,
		From: c.name(from, p.from), To: c.name(to, p.to),
		Note: c.words(p.sent), Received: c.words(p.received),
	}
	switch {
	case p.receiver == nobody && c.complete(to):
		r.Lost, r.Received = true, "not received"
	case p.sender == nobody && c.complete(from):
		r.Note = "not sent like this: copied or changed on the way"
	case r.From == otherPeers:
		r.Note = "from " + p.from.String()
	case r.To == otherPeers:
		r.Received = "to " + p.to.String()
	}
	return r
}

// complete reports whether the device is recorded without a gap, so that what it
// did not tell of did not happen.
func (c *columns) complete(device int) bool {
	return device != nobody && c.stats.Devices[device].Lost == 0
}

func (c *columns) name(device int, a netip.Addr) string {
	switch {
	case device != nobody:
		return c.devices[device]
	case slices.Contains(c.peers, a):
		return a.String()
	}
	return otherPeers
}

func (c *columns) words(s statement) string {
	if c.manyQPs && s.qpn != 0 {
		return fmt.Sprintf("QP 0x%x: %s", s.qpn, s.words)
	}
	return s.words
}
