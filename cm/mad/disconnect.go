package mad

// DREQ ends a connection (IBTA vol. 1, 12.6.10).
type DREQ struct {
	LocalCommID  CommID `json:"local_comm_id"`
	RemoteCommID CommID `json:"remote_comm_id"`
	RemoteQPN    uint32 `json:"remote_qpn"`   // 24 bits: the receiver's own QPN, which it checks
	PrivateData  Data   `json:"private_data"` // 220 bytes
}

// DREP answers a DREQ (IBTA vol. 1, 12.6.11).
type DREP struct {
	LocalCommID  CommID `json:"local_comm_id"`
	RemoteCommID CommID `json:"remote_comm_id"`
	PrivateData  Data   `json:"private_data"` // 224 bytes
}

// Attribute implements [Message].
func (*DREQ) Attribute() Attribute { return AttrDREQ }

// Attribute implements [Message].
func (*DREP) Attribute() Attribute { return AttrDREP }

const (
	dreqPrivate = 12
	drepPrivate = 8
)

func (m *DREQ) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.RemoteQPN = be24(b[8:])
	m.PrivateData = b[dreqPrivate:]
}

func (m *DREQ) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	put24(b[8:], m.RemoteQPN, 0)
	copy(b[dreqPrivate:], m.PrivateData)
}

func (m *DREP) parse(b []byte) {
	m.LocalCommID, m.RemoteCommID = parsePair(b)
	m.PrivateData = b[drepPrivate:]
}

func (m *DREP) put(b []byte) {
	putPair(b, m.LocalCommID, m.RemoteCommID)
	copy(b[drepPrivate:], m.PrivateData)
}
