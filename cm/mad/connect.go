package mad

import "encoding/binary"

// REQ asks for a connection (IBTA vol. 1, 12.6.5). Timeouts are exponents: code t
// means 4.096 µs · 2^t.
type REQ struct {
	LocalCommID       CommID    `json:"local_comm_id"`
	Service           ServiceID `json:"service"`
	LocalGUID         GUID      `json:"local_guid"`
	LocalQKey         uint32    `json:"local_qkey"`
	LocalQPN          uint32    `json:"local_qpn"`           // 24 bits
	ResponderRes      uint8     `json:"responder_resources"` // READs and atomics that the sender serves at a time
	LocalEECN         uint32    `json:"local_eecn"`          // 24 bits, RD only
	InitiatorDepth    uint8     `json:"initiator_depth"`     // READs and atomics that the sender wants outstanding
	RemoteEECN        uint32    `json:"remote_eecn"`         // 24 bits, RD only
	RemoteRespTimeout uint8     `json:"remote_response_timeout"`
	Transport         uint8     `json:"transport"` // 0 RC, 1 UC, 2 RD, 3 see ExtTransport
	FlowControl       bool      `json:"flow_control"`
	StartingPSN       uint32    `json:"starting_psn"` // 24 bits: the first PSN that the receiver of the REQ shall send
	LocalRespTimeout  uint8     `json:"local_response_timeout"`
	RetryCount        uint8     `json:"retry_count"`
	PKey              uint16    `json:"pkey"`
	MTU               uint8     `json:"mtu"` // path MTU is 2^(MTU+7) bytes
	RDCExists         bool      `json:"rdc_exists"`
	RNRRetryCount     uint8     `json:"rnr_retry_count"`
	MaxCMRetries      uint8     `json:"max_cm_retries"`
	SRQ               bool      `json:"srq"`
	ExtTransport      uint8     `json:"extended_transport"` // 1 XRC
	Primary           Path      `json:"primary"`
	Alternate         Path      `json:"alternate"`
	PrivateData       Data      `json:"private_data"` // 92 bytes
}

// REP accepts a REQ (IBTA vol. 1, 12.6.8).
type REP struct {
	LocalCommID    CommID `json:"local_comm_id"`
	RemoteCommID   CommID `json:"remote_comm_id"`
	LocalQKey      uint32 `json:"local_qkey"`
	LocalQPN       uint32 `json:"local_qpn"`    // 24 bits
	LocalEECN      uint32 `json:"local_eecn"`   // 24 bits, RD only
	StartingPSN    uint32 `json:"starting_psn"` // 24 bits: the first PSN that the receiver of the REP shall send
	ResponderRes   uint8  `json:"responder_resources"`
	InitiatorDepth uint8  `json:"initiator_depth"`
	TargetACKDelay uint8  `json:"target_ack_delay"` // exponent, like the timeouts of REQ
	Failover       uint8  `json:"failover"`
	FlowControl    bool   `json:"flow_control"`
	RNRRetryCount  uint8  `json:"rnr_retry_count"`
	SRQ            bool   `json:"srq"`
	LocalGUID      GUID   `json:"local_guid"`
	PrivateData    Data   `json:"private_data"` // 196 bytes
}

// RTU tells that the REP arrived (IBTA vol. 1, 12.6.9).
type RTU struct {
	LocalCommID  CommID `json:"local_comm_id"`
	RemoteCommID CommID `json:"remote_comm_id"`
	PrivateData  Data   `json:"private_data"` // 224 bytes
}

// Attribute implements [Message].
func (*REQ) Attribute() Attribute { return AttrREQ }

// Attribute implements [Message].
func (*REP) Attribute() Attribute { return AttrREP }

// Attribute implements [Message].
func (*RTU) Attribute() Attribute { return AttrRTU }

const (
	reqPrimary = 52
	reqAlt     = reqPrimary + pathLen
	reqPrivate = reqAlt + pathLen
	repPrivate = 36
	rtuPrivate = 8
)

func (m *REQ) parse(b []byte) {
	m.LocalCommID = CommID(binary.BigEndian.Uint32(b))
	m.Service = ServiceID(binary.BigEndian.Uint64(b[8:]))
	m.LocalGUID = GUID(binary.BigEndian.Uint64(b[16:]))
	m.LocalQKey = binary.BigEndian.Uint32(b[28:])
	m.LocalQPN, m.ResponderRes = be24(b[32:]), b[35]
	m.LocalEECN, m.InitiatorDepth = be24(b[36:]), b[39]
	m.RemoteEECN = be24(b[40:])
	m.RemoteRespTimeout, m.Transport, m.FlowControl = b[43]>>3, b[43]>>1&3, b[43]&1 != 0
	m.StartingPSN = be24(b[44:])
	m.LocalRespTimeout, m.RetryCount = b[47]>>3, b[47]&7
	m.PKey = binary.BigEndian.Uint16(b[48:])
	m.MTU, m.RDCExists, m.RNRRetryCount = b[50]>>4, b[50]&8 != 0, b[50]&7
	m.MaxCMRetries, m.SRQ, m.ExtTransport = b[51]>>4, b[51]&8 != 0, b[51]&7
	m.Primary.parse(b[reqPrimary:])
	m.Alternate.parse(b[reqAlt:])
	m.PrivateData = b[reqPrivate:]
}

func (m *REQ) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(m.LocalCommID))
	binary.BigEndian.PutUint64(b[8:], uint64(m.Service))
	binary.BigEndian.PutUint64(b[16:], uint64(m.LocalGUID))
	binary.BigEndian.PutUint32(b[28:], m.LocalQKey)
	put24(b[32:], m.LocalQPN, m.ResponderRes)
	put24(b[36:], m.LocalEECN, m.InitiatorDepth)
	put24(b[40:], m.RemoteEECN, m.RemoteRespTimeout<<3|m.Transport&3<<1|bit(m.FlowControl, 1))
	put24(b[44:], m.StartingPSN, m.LocalRespTimeout<<3|m.RetryCount&7)
	binary.BigEndian.PutUint16(b[48:], m.PKey)
	b[50] = m.MTU<<4 | bit(m.RDCExists, 8) | m.RNRRetryCount&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ, 8) | m.ExtTransport&7
	m.Primary.put(b[reqPrimary:])
	m.Alternate.put(b[reqAlt:])
	copy(b[reqPrivate:], m.PrivateData)
}

func (m *REP) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.LocalQKey = binary.BigEndian.Uint32(b[8:])
	m.LocalQPN = be24(b[12:])
	m.LocalEECN = be24(b[16:])
	m.StartingPSN = be24(b[20:])
	m.ResponderRes, m.InitiatorDepth = b[24], b[25]
	m.TargetACKDelay, m.Failover, m.FlowControl = b[26]>>3, b[26]>>1&3, b[26]&1 != 0
	m.RNRRetryCount, m.SRQ = b[27]>>5, b[27]&0x10 != 0
	m.LocalGUID = GUID(binary.BigEndian.Uint64(b[28:]))
	m.PrivateData = b[repPrivate:]
}

func (m *REP) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	binary.BigEndian.PutUint32(b[8:], m.LocalQKey)
	put24(b[12:], m.LocalQPN, 0)
	put24(b[16:], m.LocalEECN, 0)
	put24(b[20:], m.StartingPSN, 0)
	b[24], b[25] = m.ResponderRes, m.InitiatorDepth
	b[26] = m.TargetACKDelay<<3 | m.Failover&3<<1 | bit(m.FlowControl, 1)
	b[27] = m.RNRRetryCount<<5 | bit(m.SRQ, 0x10)
	binary.BigEndian.PutUint64(b[28:], uint64(m.LocalGUID))
	copy(b[repPrivate:], m.PrivateData)
}

func (m *RTU) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.PrivateData = b[rtuPrivate:]
}

func (m *RTU) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	copy(b[rtuPrivate:], m.PrivateData)
}
