package pingpong

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Endpoint is one end of the connection, as the two tell each other over TCP.
type Endpoint struct {
	LID uint16 // of InfiniBand; 0 on Ethernet
	QPN uint32
	PSN bth.PSN // of the first request that this end will send
	GID wire.GID
}

// messageLen is the size of the message in bytes: LID, QPN, PSN and GID in
// hexadecimal, of fixed width, with colons between and a NUL at the end.
const messageLen = len("0000:000000:000000:00000000000000000000000000000000") + 1

// Fields of the message: where they begin and end.
const (
	lidEnd = 4
	qpnEnd = lidEnd + 1 + 6
	psnEnd = qpnEnd + 1 + 6
	gidEnd = psnEnd + 1 + 32
)

// multicastQPN addresses the members of a multicast group.
const multicastQPN = 0xffffff

// message returns the endpoint as it goes over TCP.
func (e Endpoint) message() [messageLen]byte {
	var m [messageLen]byte
	copy(m[:], fmt.Sprintf("%04x:%06x:%06x:%x", e.LID, e.QPN, uint32(e.PSN), e.GID[:]))
	return m
}

// parseMessage reads what a peer sent. An endpoint that no connection can be made
// to is an error too.
func parseMessage(m [messageLen]byte) (Endpoint, error) {
	if m[lidEnd] != ':' || m[qpnEnd] != ':' || m[psnEnd] != ':' || m[gidEnd] != 0 {
		return Endpoint{}, fmt.Errorf("%q is not the LLLL:QQQQQQ:PPPPPP:GID of ibv_rc_pingpong", m[:])
	}
	lid, err1 := strconv.ParseUint(string(m[:lidEnd]), 16, 16)
	qpn, err2 := strconv.ParseUint(string(m[lidEnd+1:qpnEnd]), 16, 24)
	psn, err3 := strconv.ParseUint(string(m[qpnEnd+1:psnEnd]), 16, 24)
	e := Endpoint{LID: uint16(lid), QPN: uint32(qpn), PSN: bth.PSN(psn)}
	_, err4 := hex.Decode(e.GID[:], m[psnEnd+1:gidEnd])
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return Endpoint{}, fmt.Errorf("%q: %w", m[:], err)
		}
	}
	return e, e.connectable()
}

// connectable says what keeps a reliable connection from being made to the
// endpoint.
func (e Endpoint) connectable() error {
	addr := e.GID.Addr()
	switch {
	case addr.IsUnspecified():
		return errors.New("the peer has no GID, which RoCE needs: give ibv_rc_pingpong the option -g, with an index that ibv_devinfo -v shows")
	case addr.IsMulticast():
		return fmt.Errorf("the peer's GID %v is a multicast address", e.GID)
	case e.QPN < 2 || e.QPN == multicastQPN:
		return fmt.Errorf("the peer's QPN 0x%06x is not one of a connection", e.QPN)
	}
	return nil
}

// String is the form in which the report shows an endpoint.
func (e Endpoint) String() string {
	return fmt.Sprintf("LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %v", e.LID, e.QPN, uint32(e.PSN), e.GID)
}
