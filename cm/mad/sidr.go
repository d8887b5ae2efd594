package mad

import "encoding/binary"

// SIDRReq asks for the UD queue pair behind a service (IBTA vol. 1, 12.11.1).
type SIDRReq struct {
	RequestID   CommID    `json:"request_id"`
	PKey        uint16    `json:"pkey"`
	Service     ServiceID `json:"service"`
	PrivateData Data      `json:"private_data"` // 216 bytes
}

// SIDRRep answers a SIDRReq (IBTA vol. 1, 12.11.2).
type SIDRRep struct {
	RequestID   CommID     `json:"request_id"`
	Status      SIDRStatus `json:"status"`
	InfoLen     uint8      `json:"info_length"` // valid bytes of Info
	QPN         uint32     `json:"qpn"`         // 24 bits
	Service     ServiceID  `json:"service"`
	QKey        uint32     `json:"qkey"`
	Info        Data       `json:"info"`         // 72 bytes
	PrivateData Data       `json:"private_data"` // 136 bytes
}

// SIDRStatus is the outcome of a service ID resolution.
type SIDRStatus uint8

var sidrWords = [...]string{
	"valid", "service ID not supported", "rejected", "no QP available", "redirect",
	"version not supported",
}

// String says the status in words.
func (s SIDRStatus) String() string {
	if int(s) < len(sidrWords) {
		return sidrWords[s]
	}
	return "reserved status"
}

// Attribute implements [Message].
func (*SIDRReq) Attribute() Attribute { return AttrSIDRReq }

// Attribute implements [Message].
func (*SIDRRep) Attribute() Attribute { return AttrSIDRRep }

const (
	sidrReqPrivate = 16
	sidrRepInfo    = 24
	sidrRepPrivate = 96
)

func (m *SIDRReq) parse(b []byte) {
	m.RequestID = CommID(binary.BigEndian.Uint32(b))
	m.PKey = binary.BigEndian.Uint16(b[4:])
	m.Service = ServiceID(binary.BigEndian.Uint64(b[8:]))
	m.PrivateData = b[sidrReqPrivate:]
}

func (m *SIDRReq) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(m.RequestID))
	binary.BigEndian.PutUint16(b[4:], m.PKey)
	binary.BigEndian.PutUint64(b[8:], uint64(m.Service))
	copy(b[sidrReqPrivate:], m.PrivateData)
}

func (m *SIDRRep) parse(b []byte) {
	m.RequestID = CommID(binary.BigEndian.Uint32(b))
	m.Status, m.InfoLen = SIDRStatus(b[4]), b[5]
	m.QPN = be24(b[8:])
	m.Service = ServiceID(binary.BigEndian.Uint64(b[12:]))
	m.QKey = binary.BigEndian.Uint32(b[20:])
	m.Info = b[sidrRepInfo:sidrRepPrivate]
	m.PrivateData = b[sidrRepPrivate:]
}

func (m *SIDRRep) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(m.RequestID))
	b[4], b[5] = byte(m.Status), m.InfoLen
	put24(b[8:], m.QPN, 0)
	binary.BigEndian.PutUint64(b[12:], uint64(m.Service))
	binary.BigEndian.PutUint32(b[20:], m.QKey)
	copy(b[sidrRepInfo:sidrRepPrivate], m.Info)
	copy(b[sidrRepPrivate:], m.PrivateData)
}
