package decode

import (
	"maps"

	"github.com/rocinante-rdma/roce/cm/mad"
)

func init() { maps.Copy(tsharkTable, tsharkCM) }

// tsharkCM is the table's part for CM messages. Where tshark 4.0 reads a wrong
// place, the entry computes from our value what stands there.
var tsharkCM = map[string]func(p *Packet) any{
	"infiniband.cm.req":                    func(p *Packet) any { return uint32(req(p).LocalCommID) },
	"infiniband.cm.req.serviceid":          func(p *Packet) any { return uint64(req(p).Service) },
	"infiniband.cm.req.serviceid.prefix":   func(p *Packet) any { return uint64(req(p).Service) >> 24 },
	"infiniband.cm.req.serviceid.protocol": func(p *Packet) any { return uint8(req(p).Service >> 16) },
	"infiniband.cm.req.serviceid.dport":    func(p *Packet) any { return req(p).Service.Port() },
	"infiniband.cm.req.localcaguid":        func(p *Packet) any { return uint64(req(p).LocalGUID) },
	"infiniband.cm.req.localqkey":          func(p *Packet) any { return req(p).LocalQKey },
	"infiniband.cm.req.localqpn":           func(p *Packet) any { return req(p).LocalQPN },
	"infiniband.cm.req.responderres":       func(p *Packet) any { return req(p).ResponderRes },
	"infiniband.cm.req.localeecn":          func(p *Packet) any { return req(p).LocalEECN },
	"infiniband.cm.req.initdepth":          func(p *Packet) any { return req(p).InitiatorDepth },
	"infiniband.cm.req.remoteeecn":         func(p *Packet) any { return req(p).RemoteEECN },
	"infiniband.cm.req.remoteresptout":     func(p *Packet) any { return req(p).RemoteRespTimeout },
	"infiniband.cm.req.transpsvctype":      func(p *Packet) any { return req(p).Transport },
	"infiniband.cm.req.e2eflowctrl":        func(p *Packet) any { return bit(req(p).FlowControl) },
	"infiniband.cm.req.startpsn":           func(p *Packet) any { return req(p).StartingPSN },
	"infiniband.cm.req.localresptout":      func(p *Packet) any { return req(p).LocalRespTimeout },
	"infiniband.cm.req.retrcount":          func(p *Packet) any { return req(p).RetryCount },
	"infiniband.cm.req.pkey":               func(p *Packet) any { return req(p).PKey },
	"infiniband.cm.req.pppmtu":             func(p *Packet) any { return req(p).MTU },
	"infiniband.cm.req.rdcexist":           func(p *Packet) any { return bit(req(p).RDCExists) },
	"infiniband.cm.req.rnrretrcount":       func(p *Packet) any { return req(p).RNRRetryCount },
	"infiniband.cm.req.maxcmretr":          func(p *Packet) any { return req(p).MaxCMRetries },
	"infiniband.cm.req.srq":                func(p *Packet) any { return bit(req(p).SRQ) },
	"infiniband.cm.req.ext_transport":      func(p *Packet) any { return req(p).ExtTransport },

	"infiniband.cm.req.prim_locallid":       func(p *Packet) any { return req(p).Primary.LocalLID },
	"infiniband.cm.req.prim_remotelid":      func(p *Packet) any { return req(p).Primary.RemoteLID },
	"infiniband.cm.req.prim_localgid_ipv4":  func(p *Packet) any { return req(p).Primary.LocalGID.Unmap().AsSlice() },
	"infiniband.cm.req.prim_remotegid_ipv4": func(p *Packet) any { return req(p).Primary.RemoteGID.Unmap().AsSlice() },
	"infiniband.cm.req.prim_localgid":       func(p *Packet) any { return req(p).Primary.LocalGID.AsSlice() },
	"infiniband.cm.req.prim_remotegid":      func(p *Packet) any { return req(p).Primary.RemoteGID.AsSlice() },
	"infiniband.cm.req.prim_flowlabel":      func(p *Packet) any { return misreadLabel(req(p).Primary) },
	"infiniband.cm.req.prim_reserved0":      func(p *Packet) any { return misreadReserved(req(p).Primary) },
	"infiniband.cm.req.prim_pktrate":        func(p *Packet) any { return misreadRate(req(p).Primary) },
	"infiniband.cm.req.prim_tfcclass":       func(p *Packet) any { return req(p).Primary.TrafficClass },
	"infiniband.cm.req.prim_hoplim":         func(p *Packet) any { return req(p).Primary.HopLimit },
	"infiniband.cm.req.prim_sl":             func(p *Packet) any { return req(p).Primary.SL },
	"infiniband.cm.req.prim_subnetlocal":    func(p *Packet) any { return bit(req(p).Primary.SubnetLocal) },
	"infiniband.cm.req.prim_reserved1":      func(*Packet) any { return 0 },
	"infiniband.cm.req.prim_localacktout":   func(p *Packet) any { return req(p).Primary.AckTimeout },
	"infiniband.cm.req.prim_reserved2":      func(*Packet) any { return 0 },

	"infiniband.cm.req.alt_locallid":     func(p *Packet) any { return req(p).Alternate.LocalLID },
	"infiniband.cm.req.alt_remotelid":    func(p *Packet) any { return req(p).Alternate.RemoteLID },
	"infiniband.cm.req.alt_localgid":     func(p *Packet) any { return req(p).Alternate.LocalGID.AsSlice() },
	"infiniband.cm.req.alt_remotegid":    func(p *Packet) any { return req(p).Alternate.RemoteGID.AsSlice() },
	"infiniband.cm.req.alt_flowlabel":    func(p *Packet) any { return misreadLabel(req(p).Alternate) },
	"infiniband.cm.req.alt_reserved0":    func(p *Packet) any { return misreadReserved(req(p).Alternate) },
	"infiniband.cm.req.alt_pktrate":      func(p *Packet) any { return misreadRate(req(p).Alternate) },
	"infiniband.cm.req.alt_tfcclass":     func(p *Packet) any { return req(p).Alternate.TrafficClass },
	"infiniband.cm.req.alt_hoplim":       func(p *Packet) any { return req(p).Alternate.HopLimit },
	"infiniband.cm.req.alt_sl":           func(p *Packet) any { return req(p).Alternate.SL },
	"infiniband.cm.req.alt_subnetlocal":  func(p *Packet) any { return bit(req(p).Alternate.SubnetLocal) },
	"infiniband.cm.req.alt_reserved1":    func(*Packet) any { return 0 },
	"infiniband.cm.req.alt_localacktout": func(p *Packet) any { return req(p).Alternate.AckTimeout },

	"infiniband.cm.req.ip_cm":          func(p *Packet) any { return callerBytes(p) },
	"infiniband.cm.req.ip_cm.majv":     func(p *Packet) any { return address(p).Version >> 4 },
	"infiniband.cm.req.ip_cm.minv":     func(p *Packet) any { return address(p).Version & 15 },
	"infiniband.cm.req.ip_cm.ipv":      func(p *Packet) any { return address(p).IPVersion },
	"infiniband.cm.req.ip_cm.reserved": func(*Packet) any { return 0 },
	"infiniband.cm.req.ip_cm.sport":    func(p *Packet) any { return address(p).SrcPort },
	"infiniband.cm.req.ip_cm.sip4":     func(p *Packet) any { return address(p).Src.AsSlice() },
	"infiniband.cm.req.ip_cm.dip4":     func(p *Packet) any { return address(p).Dst.AsSlice() },
	"infiniband.cm.req.ip_cm.sip6":     func(p *Packet) any { return address(p).Src.AsSlice() },
	"infiniband.cm.req.ip_cm.dip6":     func(p *Packet) any { return address(p).Dst.AsSlice() },
	"infiniband.cm.req.ip_cm.private":  func(p *Packet) any { return callerPrivate(p) },

	"infiniband.cm.rep":               func(p *Packet) any { return uint32(rep(p).LocalCommID) },
	"infiniband.cm.rep.remotecommid":  func(p *Packet) any { return uint32(rep(p).RemoteCommID) },
	"infiniband.cm.rep.localqkey":     func(p *Packet) any { return rep(p).LocalQKey },
	"infiniband.cm.rep.localqpn":      func(p *Packet) any { return rep(p).LocalQPN },
	"infiniband.cm.rep.localeecn":     func(p *Packet) any { return rep(p).LocalEECN },
	"infiniband.cm.rep.startpsn":      func(p *Packet) any { return rep(p).StartingPSN },
	"infiniband.cm.rep.respres":       func(p *Packet) any { return rep(p).ResponderRes },
	"infiniband.cm.rep.initdepth":     func(p *Packet) any { return rep(p).InitiatorDepth },
	"infiniband.cm.rep.tgtackdelay":   func(p *Packet) any { return rep(p).TargetACKDelay },
	"infiniband.cm.rep.failoveracc":   func(p *Packet) any { return rep(p).Failover },
	"infiniband.cm.rep.e2eflowctrl":   func(p *Packet) any { return bit(rep(p).FlowControl) },
	"infiniband.cm.rep.rnrretrcount":  func(p *Packet) any { return rep(p).RNRRetryCount },
	"infiniband.cm.rep.srq":           func(p *Packet) any { return bit(rep(p).SRQ) },
	"infiniband.cm.rep.reserved":      func(*Packet) any { return 0 },
	"infiniband.cm.rep.localcaguid":   func(p *Packet) any { return uint64(rep(p).LocalGUID) },
	"infiniband.cm.rep.private":       func(p *Packet) any { return []byte(rep(p).PrivateData) },
	"infiniband.cm.rtu.localcommid":   func(p *Packet) any { return uint32(rtu(p).LocalCommID) },
	"infiniband.cm.rtu.remotecommid":  func(p *Packet) any { return uint32(rtu(p).RemoteCommID) },
	"infiniband.cm.rtu.private":       func(p *Packet) any { return []byte(rtu(p).PrivateData) },
	"infiniband.cm.rej.localcommid":   func(p *Packet) any { return uint32(rej(p).LocalCommID) },
	"infiniband.cm.rej.remotecommid":  func(p *Packet) any { return uint32(rej(p).RemoteCommID) },
	"infiniband.cm.rej.msgrej":        func(p *Packet) any { return rej(p).Message },
	"infiniband.cm.rej.reserved0":     func(*Packet) any { return 0 },
	"infiniband.cm.rej.rejinfolen":    func(p *Packet) any { return rej(p).InfoLen },
	"infiniband.cm.rej.reserved1":     func(*Packet) any { return 0 },
	"infiniband.cm.rej.reason":        func(p *Packet) any { return uint16(rej(p).Reason) },
	"infiniband.cm.rej.ari":           func(p *Packet) any { return []byte(rej(p).Info) },
	"infiniband.cm.rej.private":       func(p *Packet) any { return []byte(rej(p).PrivateData) },
	"infiniband.cm.dreq.localcommid":  func(p *Packet) any { return uint32(dreq(p).LocalCommID) },
	"infiniband.cm.dreq.remotecommid": func(p *Packet) any { return uint32(dreq(p).RemoteCommID) },
	"infiniband.cm.req.remoteqpneecn": func(p *Packet) any { return dreq(p).RemoteQPN }, // named as if it were the REQ's
	"infiniband.cm.dreq.private":      func(p *Packet) any { return []byte(dreq(p).PrivateData) },
	"infiniband.cm.drsp.localcommid":  func(p *Packet) any { return uint32(drep(p).LocalCommID) },
	"infiniband.cm.drsp.remotecommid": func(p *Packet) any { return uint32(drep(p).RemoteCommID) },
	"infiniband.cm.drsp.private":      func(p *Packet) any { return []byte(drep(p).PrivateData) },
}

func req(p *Packet) *mad.REQ   { return p.CM.Message.(*mad.REQ) }
func rep(p *Packet) *mad.REP   { return p.CM.Message.(*mad.REP) }
func rtu(p *Packet) *mad.RTU   { return p.CM.Message.(*mad.RTU) }
func rej(p *Packet) *mad.REJ   { return p.CM.Message.(*mad.REJ) }
func dreq(p *Packet) *mad.DREQ { return p.CM.Message.(*mad.DREQ) }
func drep(p *Packet) *mad.DREP { return p.CM.Message.(*mad.DREP) }

// The flow label (20 bits), six reserved bits and the rate (6 bits) share four
// bytes. tshark 4.0 takes the label from the first three as if they were four, and
// the other two from the first byte alone.
func misreadLabel(p mad.Path) uint32    { return p.FlowLabel >> 8 }
func misreadReserved(p mad.Path) uint32 { return p.FlowLabel >> 12 >> 6 }
func misreadRate(p mad.Path) uint32     { return p.FlowLabel >> 12 & 0x3f }

func address(p *Packet) mad.Address {
	a, _, _ := mad.ParseAddress(req(p).PrivateData)
	return a
}

func callerPrivate(p *Packet) []byte {
	_, user, _ := mad.ParseAddress(req(p).PrivateData)
	return user
}

// callerBytes encodes the decoded address header again, the user's data behind it.
func callerBytes(p *Packet) []byte {
	b := make([]byte, mad.AddressLen)
	address(p).Put(b)
	return append(b, callerPrivate(p)...)
}
