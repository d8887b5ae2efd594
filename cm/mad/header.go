package mad

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes in bytes.
const (
	Size      = 256
	HeaderLen = 24
	DataLen   = Size - HeaderLen
)

// Values of a CM datagram's header.
const (
	ClassCM        = 0x07
	ClassVersionCM = 2
	MethodSend     = 0x03 // the only method: replies too are Sends
)

// QP1 and its fixed queue key: where CM datagrams go to and come from.
const (
	QPN  = 1
	QKey = 0x80010000
)

// Attribute is the kind of a CM message (IBTA vol. 1, table 98).
type Attribute uint16

// CM attributes. LAP and APR, which manage alternate paths, have no decoder.
const (
	AttrREQ     Attribute = 0x0010
	AttrMRA     Attribute = 0x0011
	AttrREJ     Attribute = 0x0012
	AttrREP     Attribute = 0x0013
	AttrRTU     Attribute = 0x0014
	AttrDREQ    Attribute = 0x0015
	AttrDREP    Attribute = 0x0016
	AttrSIDRReq Attribute = 0x0017
	AttrSIDRRep Attribute = 0x0018
	AttrLAP     Attribute = 0x0019
	AttrAPR     Attribute = 0x001a
)

var attributeNames = map[Attribute]string{
	AttrREQ: "REQ", AttrMRA: "MRA", AttrREJ: "REJ", AttrREP: "REP", AttrRTU: "RTU",
	AttrDREQ: "DREQ", AttrDREP: "DREP", AttrSIDRReq: "SIDR_REQ", AttrSIDRRep: "SIDR_REP",
	AttrLAP: "LAP", AttrAPR: "APR",
}

// String gives the specification's abbreviation.
func (a Attribute) String() string {
	if s, ok := attributeNames[a]; ok {
		return s
	}
	return fmt.Sprintf("attribute 0x%04x", uint16(a))
}

// Header is the header common to all MADs (IBTA vol. 1, 13.4.3).
type Header struct {
	BaseVersion   uint8         `json:"base_version"`
	Class         uint8         `json:"class"`
	ClassVersion  uint8         `json:"class_version"`
	Method        uint8         `json:"method"`
	Status        uint16        `json:"status"`
	ClassSpecific uint16        `json:"class_specific"`
	TransactionID TransactionID `json:"transaction_id"`
	Attribute     Attribute     `json:"attribute"`
	Modifier      uint32        `json:"modifier"`
}

// Parse errors.
var (
	ErrShort = errors.New("mad: datagram shorter than 256 bytes")
	ErrClass = errors.New("mad: not a CM datagram of base version 1 and class version 2")
	ErrAttr  = errors.New("mad: CM attribute without a decoder")
)

// NewHeader returns the header of a CM message.
func NewHeader(a Attribute, id TransactionID) Header {
	return Header{
		BaseVersion: 1, Class: ClassCM, ClassVersion: ClassVersionCM, Method: MethodSend,
		TransactionID: id, Attribute: a,
	}
}

// ParseHeader reads the first 24 bytes of a MAD of any class; b must hold a whole
// datagram.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < Size {
		return Header{}, ErrShort
	}
	return Header{
		BaseVersion:   b[0],
		Class:         b[1],
		ClassVersion:  b[2],
		Method:        b[3],
		Status:        binary.BigEndian.Uint16(b[4:]),
		ClassSpecific: binary.BigEndian.Uint16(b[6:]),
		TransactionID: TransactionID(binary.BigEndian.Uint64(b[8:])),
		Attribute:     Attribute(binary.BigEndian.Uint16(b[16:])),
		Modifier:      binary.BigEndian.Uint32(b[20:]),
	}, nil
}

// put writes the header into the first 24 bytes of b.
func (h *Header) put(b []byte) {
	b[0], b[1], b[2], b[3] = h.BaseVersion, h.Class, h.ClassVersion, h.Method
	binary.BigEndian.PutUint16(b[4:], h.Status)
	binary.BigEndian.PutUint16(b[6:], h.ClassSpecific)
	binary.BigEndian.PutUint64(b[8:], uint64(h.TransactionID))
	binary.BigEndian.PutUint16(b[16:], uint16(h.Attribute))
	binary.BigEndian.PutUint32(b[20:], h.Modifier)
}
