package trace

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// JSONHeaders is the transport headers of a packet as [JSONLines] writes them, for
// embedding in other records about packets. Headers that the packet has not are
// left out.
type JSONHeaders struct {
	Op        string `json:"op"`
	Opcode    uint8  `json:"opcode"`
	DestQPN   uint32 `json:"dest_qpn"`
	PSN       uint32 `json:"psn"`
	PKey      uint16 `json:"pkey"`
	AckReq    bool   `json:"ack_req,omitzero"`
	Solicited bool   `json:"solicited,omitzero"`
	FECN      bool   `json:"fecn,omitzero"`
	BECN      bool   `json:"becn,omitzero"`

	RETH       *jsonRETH   `json:"reth,omitempty"`
	Atomic     *jsonAtomic `json:"atomic,omitempty"`
	AETH       *jsonAETH   `json:"aeth,omitempty"`
	DETH       *jsonDETH   `json:"deth,omitempty"`
	Imm        string      `json:"imm,omitzero"`
	Invalidate string      `json:"invalidate,omitzero"`
	AtomicAck  string      `json:"atomic_ack,omitzero"`
	Payload    int         `json:"payload"`
}

type jsonRETH struct {
	VA   string `json:"va"`
	RKey string `json:"rkey"`
	Len  uint32 `json:"len"`
}

type jsonAtomic struct {
	VA      string `json:"va"`
	RKey    string `json:"rkey"`
	SwapAdd string `json:"swap_add"`
	Compare string `json:"compare"`
}

type jsonAETH struct {
	Syndrome string `json:"syndrome"`
	Code     uint8  `json:"code"`
	MSN      uint32 `json:"msn"`
}

type jsonDETH struct {
	QKey   string `json:"qkey"`
	SrcQPN uint32 `json:"src_qpn"`
}

// JSONHeaders returns what can be read of the packet; nil if not even the BTH is
// whole.
func (r *Record) JSONHeaders() *JSONHeaders {
	if len(r.Bytes()) < bth.BTHLen+wire.ICRCLen {
		return nil
	}
	p := &r.Packet
	h := &JSONHeaders{
		Op: p.Opcode.String(), Opcode: uint8(p.Opcode),
		DestQPN: p.DestQP, PSN: uint32(p.PSN), PKey: p.PKey,
		AckReq: p.AckReq, Solicited: p.Solicited, FECN: p.FECN, BECN: p.BECN,
		Payload: p.PayloadLen(),
	}
	if r.Err == nil {
		h.setExtensions(p)
	}
	return h
}

func (h *JSONHeaders) setExtensions(p *bth.Packet) {
	f := p.Opcode.Flags()
	if f&bth.HasRETH != 0 {
		h.RETH = &jsonRETH{hex(p.RETH.VA), hex(uint64(p.RETH.RKey)), p.RETH.Len}
	}
	if a := p.Atomic; f&bth.HasAtomicETH != 0 {
		h.Atomic = &jsonAtomic{hex(a.VA), hex(uint64(a.RKey)), hex(a.SwapAdd), hex(a.Compare)}
	}
	if s := p.AETH.Syndrome; f&bth.HasAETH != 0 {
		h.AETH = &jsonAETH{s.String(), uint8(s), p.AETH.MSN}
	}
	if f&bth.HasDETH != 0 {
		h.DETH = &jsonDETH{hex(uint64(p.DETH.QKey)), p.DETH.SrcQP}
	}
	if f&bth.HasImm != 0 {
		h.Imm = hex(uint64(p.Imm))
	}
	if f&bth.HasIETH != 0 {
		h.Invalidate = hex(uint64(p.IETH))
	}
	if f&bth.HasAtomicAck != 0 {
		h.AtomicAck = hex(p.AtomicAck)
	}
}

func hex(v uint64) string { return fmt.Sprintf("0x%x", v) }
