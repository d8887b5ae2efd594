package devices

import (
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
)

// PrintVerbose shows devices in the words and the layout of ibv_devinfo -v, and below
// each port what that does not know.
func PrintVerbose(w io.Writer, list []Device) error {
	var b strings.Builder
	for n := range list {
		list[n].printVerbose(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// port are the tool's words for a state, with its numbers: of the port [ibv_port_state]
// and of the wire (IBTA vol. 1, PortPhysicalState).
var port = map[string]struct{ state, physical string }{
	link.Active.String(): {"PORT_ACTIVE (4)", "LINK_UP (5)"},
	link.Down.String():   {"PORT_DOWN (1)", "DISABLED (3)"},
}

func (d *Device) printVerbose(b *strings.Builder) {
	fmt.Fprintf(b, "hca_id:\t%s\n", d.Name)
	for _, f := range [][2]string{
		{"transport", "InfiniBand (0)"},
		{"node_guid", d.GUID},
		{"sys_image_guid", d.GUID},
		{"phys_port_cnt", "1"},
		{"max_sge", fmt.Sprint(link.MaxSGE)},
		{"max_qp_rd_atom", fmt.Sprint(qp.MaxRdAtomic)},
	} {
		fmt.Fprintf(b, "\t%s:\t\t\t%s\n", f[0], f[1])
	}
	fmt.Fprint(b, "\t\tport:\t1\n")
	at := portFields{b}
	at.set("state", port[d.State].state)
	at.set("max_mtu", enumMTU(link.MaxPayload))
	at.set("active_mtu", enumMTU(d.PathMTU))
	at.set("sm_lid", "0")
	at.set("port_lid", "0")
	at.set("port_lmc", "0x00")
	at.set("link_layer", "Ethernet")
	at.set("max_msg_sz", fmt.Sprintf("0x%x", qp.MaxMessage))
	at.set("gid_tbl_len", fmt.Sprint(len(d.GIDs)))
	at.set("phys_state", port[d.State].physical)
	for _, g := range d.GIDs {
		at.set(fmt.Sprintf("GID[%3d]", g.Index), g.verboseText())
	}
	d.printOurs(b)
}

// printOurs shows what the tool has no words for.
func (d *Device) printOurs(b *strings.Builder) {
	at := portFields{b}
	at.set("link_mtu", d.mtuText())
	at.set("interface", d.headline())
	for _, l := range d.Links {
		at.set("link "+l.Name, l.text())
	}
	b.WriteByte('\n')
}

func (g *GID) verboseText() string {
	s := g.GID + ", RoCE v2"
	if g.VLAN != 0 {
		s += fmt.Sprintf(", VLAN %d", g.VLAN)
	}
	if g.Problem != "" {
		s += " (unusable: " + g.Problem + ")"
	}
	return s
}

// enumMTU shows a path MTU with its number [ibv_mtu]: 1 is 256, 5 is 4096.
func enumMTU(payload int) string {
	if payload == 0 {
		return "invalid MTU (0)"
	}
	return fmt.Sprintf("%d (%d)", payload, bits.Len(uint(payload))-8)
}

// portFields writes names and values of a port, values below each other.
type portFields struct{ b *strings.Builder }

func (f portFields) set(name, value string) {
	const column, tab = 24, 8
	tabs := max(1, (column-len(name)-1+tab-1)/tab)
	fmt.Fprintf(f.b, "\t\t\t%s:%s%s\n", name, strings.Repeat("\t", tabs), value)
}
