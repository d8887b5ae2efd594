package mad

import "encoding/binary"

// Phase says which message a REJ or MRA speaks of.
type Phase uint8

// Phases.
const (
	PhaseREQ Phase = iota
	PhaseREP
	PhaseOther
)

// MRA asks the peer to be patient (IBTA vol. 1, 12.6.6).
type MRA struct {
	LocalCommID    CommID `json:"local_comm_id"`
	RemoteCommID   CommID `json:"remote_comm_id"`
	Message        Phase  `json:"message"`         // the message received
	ServiceTimeout uint8  `json:"service_timeout"` // 4.096 µs · 2^t
	PrivateData    Data   `json:"private_data"`    // 222 bytes
}

// REJ refuses a REQ or REP (IBTA vol. 1, 12.6.7).
type REJ struct {
	LocalCommID  CommID `json:"local_comm_id"` // 0 if the refusing side has none
	RemoteCommID CommID `json:"remote_comm_id"`
	Message      Phase  `json:"message"`     // the message refused
	InfoLen      uint8  `json:"info_length"` // valid bytes of Info
	Reason       Reason `json:"reason"`
	Info         Data   `json:"info"`         // additional reject information, 72 bytes
	PrivateData  Data   `json:"private_data"` // 148 bytes
}

// Attribute implements [Message].
func (*MRA) Attribute() Attribute { return AttrMRA }

// Attribute implements [Message].
func (*REJ) Attribute() Attribute { return AttrREJ }

const (
	mraPrivate = 10
	rejInfo    = 12
	rejPrivate = 84
)

func (m *MRA) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.Message, m.ServiceTimeout = Phase(b[8]>>6), b[9]>>3
	m.PrivateData = b[mraPrivate:]
}

func (m *MRA) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	b[8], b[9] = byte(m.Message)<<6, m.ServiceTimeout<<3
	copy(b[mraPrivate:], m.PrivateData)
}

func (m *REJ) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.Message, m.InfoLen = Phase(b[8]>>6), b[9]>>1
	m.Reason = Reason(binary.BigEndian.Uint16(b[10:]))
	m.Info = b[rejInfo:rejPrivate]
	m.PrivateData = b[rejPrivate:]
}

func (m *REJ) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	b[8], b[9] = byte(m.Message)<<6, m.InfoLen<<1
	binary.BigEndian.PutUint16(b[10:], uint16(m.Reason))
	copy(b[rejInfo:rejPrivate], m.Info)
	copy(b[rejPrivate:], m.PrivateData)
}
