package mad

// Message is one CM message: a pointer to [REQ], [REP], [RTU], [MRA], [REJ],
// [DREQ], [DREP], [SIDRReq] or [SIDRRep].
type Message interface {
	// Attribute tells the kind.
	Attribute() Attribute
	// parse reads the 232 bytes behind the MAD header.
	parse(b []byte)
	// put writes them; b is zeroed.
	put(b []byte)
}

// newMessage returns an empty message of a kind, nil if it has no decoder.
func newMessage(a Attribute) Message {
	switch a {
	case AttrREQ:
		return new(REQ)
	case AttrREP:
		return new(REP)
	case AttrRTU:
		return new(RTU)
	case AttrMRA:
		return new(MRA)
	case AttrREJ:
		return new(REJ)
	case AttrDREQ:
		return new(DREQ)
	case AttrDREP:
		return new(DREP)
	case AttrSIDRReq:
		return new(SIDRReq)
	case AttrSIDRRep:
		return new(SIDRRep)
	default:
		return nil
	}
}

// Parse reads a CM datagram. Private data in the message aliases b. The header is
// valid unless the error is [ErrShort].
func Parse(b []byte) (Header, Message, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return h, nil, err
	}
	if h.BaseVersion != 1 || h.Class != ClassCM || h.ClassVersion != ClassVersionCM {
		return h, nil, ErrClass
	}
	m := newMessage(h.Attribute)
	if m == nil {
		return h, nil, ErrAttr
	}
	m.parse(b[HeaderLen:Size])
	return h, m, nil
}

// Put writes a CM datagram into the first 256 bytes of b. The header's attribute
// is the message's. Private data longer than its field is cut off, shorter data is
// filled up with zeros: the receiver always sees the whole field.
func Put(b []byte, h Header, m Message) {
	b = b[:Size]
	clear(b)
	h.Attribute = m.Attribute()
	h.put(b)
	m.put(b[HeaderLen:])
}
