package decode

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
)

// tsharkWords are fields that tshark makes up rather than reads.
var tsharkWords = map[string]string{
	"infiniband.mad.data":       "the bytes that follow the MAD header once more, as an undecoded block",
	"infiniband.vendor":         "what follows the BTH of opcodes that tshark 4.0 does not know: XRC, FLUSH, ATOMIC WRITE, CNP",
	"infiniband.smplid.smpdata": "the same block again, as the frame of the CM fields below it",
}

// tsharkTable gives our value for each of tshark's fields: a number or bytes.
var tsharkTable = map[string]func(p *Packet) any{
	// Whole headers: what we decoded, encoded again.
	"infiniband.bth":          func(p *Packet) any { return headers(p)[:bth.BTHLen] },
	"infiniband.deth":         func(p *Packet) any { return headers(p)[bth.BTHLen:][:bth.DETHLen] },
	"infiniband.reth":         func(p *Packet) any { return headers(p)[bth.BTHLen:][:bth.RETHLen] },
	"infiniband.atomiceth":    func(p *Packet) any { return headers(p)[bth.BTHLen:][:bth.AtomicETHLen] },
	"infiniband.aeth":         func(p *Packet) any { return headers(p)[bth.BTHLen:][:bth.AETHLen] },
	"infiniband.atomicacketh": func(p *Packet) any { return headers(p)[bth.BTHLen+bth.AETHLen:][:bth.AtomicAckLen] },
	"infiniband.mad":          func(p *Packet) any { return datagram(p) },

	// Reserved bits are ignored on receive and sent as zero.
	"infiniband.bth reserved":            func(p *Packet) any { return bit(p.BTH.FECN)<<7 | bit(p.BTH.BECN)<<6 }, // tshark knows neither bit
	"infiniband.deth reserved":           func(*Packet) any { return 0 },
	"infiniband.mad reserved":            func(*Packet) any { return 0 },
	"infiniband.smplid.smpdata reserved": func(*Packet) any { return 0 },

	"infiniband.bth.opcode":    func(p *Packet) any { return uint8(p.BTH.Opcode) },
	"infiniband.bth.se":        func(p *Packet) any { return bit(p.BTH.Solicited) },
	"infiniband.bth.m":         func(p *Packet) any { return bit(p.BTH.MigReq) },
	"infiniband.bth.padcnt":    func(p *Packet) any { return p.BTH.Pad },
	"infiniband.bth.tver":      func(p *Packet) any { return p.BTH.TVer },
	"infiniband.bth.p_key":     func(p *Packet) any { return p.BTH.PKey },
	"infiniband.bth.destqp":    func(p *Packet) any { return p.BTH.DestQP },
	"infiniband.bth.a":         func(p *Packet) any { return bit(p.BTH.AckReq) },
	"infiniband.bth.reserved7": func(*Packet) any { return 0 },
	"infiniband.bth.psn":       func(p *Packet) any { return uint32(p.BTH.PSN) },

	"infiniband.deth.q_key": func(p *Packet) any { return p.BTH.DETH.QKey },
	"infiniband.deth.srcqp": func(p *Packet) any { return p.BTH.DETH.SrcQP },

	"infiniband.reth.va":     func(p *Packet) any { return remote(p).VA },
	"infiniband.reth.r_key":  func(p *Packet) any { return remote(p).RKey },
	"infiniband.reth.dmalen": func(p *Packet) any { return p.BTH.RETH.Len },

	"infiniband.atomiceth.swapdt":       func(p *Packet) any { return p.BTH.Atomic.SwapAdd },
	"infiniband.atomiceth.cmpdt":        func(p *Packet) any { return p.BTH.Atomic.Compare },
	"infiniband.atomicacketh.origremdt": func(p *Packet) any { return p.BTH.AtomicAck },

	"infiniband.aeth.syndrome":              func(p *Packet) any { return uint8(p.BTH.AETH.Syndrome) },
	"infiniband.aeth.syndrome.reserved":     func(*Packet) any { return 0 },
	"infiniband.aeth.syndrome.opcode":       func(p *Packet) any { return syndromeKind(p.BTH.AETH.Syndrome) },
	"infiniband.aeth.syndrome.credit_count": func(p *Packet) any { return p.BTH.AETH.Syndrome.Value() },
	"infiniband.aeth.syndrome.timer":        func(p *Packet) any { return p.BTH.AETH.Syndrome.Value() },
	"infiniband.aeth.syndrome.error_code":   func(p *Packet) any { return p.BTH.AETH.Syndrome.Value() },
	"infiniband.aeth.msn":                   func(p *Packet) any { return p.BTH.AETH.MSN },

	"infiniband.immdt":         func(p *Packet) any { return p.BTH.Imm },
	"infiniband.ieth":          func(p *Packet) any { return p.BTH.IETH },
	"infiniband.invariant.crc": func(p *Packet) any { return p.Frame[len(p.Frame)-4:] },

	"infiniband.mad.baseversion":       func(p *Packet) any { return p.CM.BaseVersion },
	"infiniband.mad.mgmtclass":         func(p *Packet) any { return p.CM.Class },
	"infiniband.mad.classversion":      func(p *Packet) any { return p.CM.ClassVersion },
	"infiniband.mad.method":            func(p *Packet) any { return p.CM.Method },
	"infiniband.mad.status":            func(p *Packet) any { return p.CM.Status },
	"infiniband.mad.classspecific":     func(p *Packet) any { return p.CM.ClassSpecific },
	"infiniband.mad.transactionid":     func(p *Packet) any { return uint64(p.CM.TransactionID) },
	"infiniband.mad.attributeid":       func(p *Packet) any { return uint16(p.CM.Header.Attribute) },
	"infiniband.mad.attributemodifier": func(p *Packet) any { return p.CM.Modifier },
}

// headers encodes the decoded transport headers again.
func headers(p *Packet) []byte {
	b := make([]byte, bth.MaxHeaderLen)
	return b[:p.BTH.PutHeaders(b)]
}

// datagram encodes the decoded MAD again.
func datagram(p *Packet) []byte {
	b := make([]byte, mad.Size)
	mad.Put(b, p.CM.Header, p.CM.Message)
	return b
}

// remote is the memory that a packet addresses: tshark has one field for both headers.
func remote(p *Packet) bth.RETH {
	if p.BTH.Opcode.Is(bth.HasAtomicETH) {
		return bth.RETH{VA: p.BTH.Atomic.VA, RKey: p.BTH.Atomic.RKey}
	}
	return p.BTH.RETH
}

func syndromeKind(s bth.Syndrome) uint8 {
	switch {
	case s.IsACK():
		return 0
	case s.IsRNR():
		return 1
	case s.IsNAK():
		return 3
	}
	return 2
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
