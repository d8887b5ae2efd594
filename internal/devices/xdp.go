package devices

import (
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/internal/uname"
	"github.com/rocinante-rdma/roce/xdp"
)

// needs are what an AF_XDP link needs of host and interface and can be found out
// without touching either.
type needs struct {
	nic      error // opening what the link has in common with raw
	socket   error // making an AF_XDP socket
	netAdmin bool  // CAP_NET_ADMIN
	bpf      bool  // CAP_BPF or CAP_SYS_ADMIN
	release  string
	program  int // XDP program on the interface
	mtu      int
}

// considerXDP says whether something speaks against an AF_XDP link.
func considerXDP(i *hostnet.Interface) Link {
	return findNeeds(i).judge(i.Name)
}

// judge lists everything that is missing, so that one can mend it at once.
func (n needs) judge(name string) Link {
	if n.nic != nil {
		return Link{Name: "xdp", Verdict: Fails, Note: reason(n.nic, "open "+name+": ")}
	}
	var lacks []string
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	if n.socket != nil {
		lack("an AF_XDP socket cannot be made: %v", n.socket)
	}
	if !n.netAdmin {
		lack("attaching an XDP program needs CAP_NET_ADMIN")
	}
	if !n.bpf {
		lack("loading an XDP program needs CAP_BPF")
	}
	if !n.netAdmin || !n.bpf {
		lack("run as root, or give the program these (`setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep PROGRAM`)")
	}
	if uname.OlderThan(n.release, 5, 9) {
		lack("attaching an XDP program that ends with its process needs Linux 5.9, and this is %s", n.release)
	}
	if n.program != 0 {
		lack("the interface has an XDP program already, id %d: end the process that holds it, or detach it with `ip link set dev %s xdp off`", n.program, name)
	}
	if len(lacks) > 0 {
		return Link{Name: "xdp", Verdict: Fails, Note: strings.Join(lacks, "; ")}
	}
	l := Link{Name: "xdp", Verdict: Untried, Note: fmt.Sprintf("nothing was found in its way; `roci devices --probe %s` tries it", name)}
	if n.mtu > xdp.SingleMTU && uname.OlderThan(n.release, 6, 6) {
		l.note(fmt.Sprintf("packets of more than one buffer need Linux 6.6, and this is %s: the path MTU will be 2048", n.release))
	}
	return l
}
