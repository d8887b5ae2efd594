package raw

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/nic"
)

// controlSize holds a control message with auxdata.
const controlSize = 64

// tagOf reads the VLAN tag from the control messages, if they are whole. A provider's
// tag (802.1ad) makes a frame none of ours.
func tagOf(control []byte) (tag nic.Tag, ok bool) {
	if len(control) < unix.CmsgLen(int(unsafe.Sizeof(unix.TpacketAuxdata{}))) {
		return nic.Tag{}, false
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(control)))
	if h.Level != unix.SOL_PACKET || h.Type != unix.PACKET_AUXDATA {
		return nic.Tag{}, false
	}
	a := (*unix.TpacketAuxdata)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
	if a.Status&unix.TP_STATUS_VLAN_VALID == 0 {
		return nic.Tag{}, true
	}
	customer := a.Status&unix.TP_STATUS_VLAN_TPID_VALID == 0 || a.Vlan_tpid == unix.ETH_P_8021Q
	return nic.Tag{TCI: a.Vlan_tci, Present: true}, customer
}
