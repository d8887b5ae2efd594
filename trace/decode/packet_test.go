package decode

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// What routers may change leaves the ICRC good, what they must not makes it bad.
func TestICRCVerdicts(t *testing.T) {
	const ip = wire.EthernetLen
	for name, c := range map[string]struct {
		change func(frame []byte)
		want   ICRC
	}{
		"nothing":           {func([]byte) {}, ICRCGood},
		"TTL":               {func(b []byte) { b[ip+8]-- }, ICRCGood},
		"DSCP and ECN":      {func(b []byte) { b[ip+1] = 0xff }, ICRCGood},
		"FECN and BECN":     {func(b []byte) { b[ip+28+4] |= 0xc0 }, ICRCGood},
		"UDP checksum":      {func(b []byte) { b[ip+26]++ }, ICRCGood},
		"source address":    {func(b []byte) { b[ip+15]++ }, ICRCBad},
		"source port":       {func(b []byte) { b[ip+21]++ }, ICRCBad},
		"IP identification": {func(b []byte) { b[ip+5]++ }, ICRCBad},
		"PSN":               {func(b []byte) { b[ip+28+11]++ }, ICRCBad},
		"payload":           {func(b []byte) { b[len(b)-5]++ }, ICRCBad},
		"ICRC 0":            {func(b []byte) { copy(b[len(b)-4:], make([]byte, 4)) }, ICRCBad},
	} {
		t.Run(name, func(t *testing.T) {
			var tape tape
			r := tape.send(alice, bob, bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x20, PSN: 5}, 8)
			c.change(r.Data)
			require.Equal(t, c.want, Decode(r).ICRC)
		})
	}
}

// W03: an ICRC of 0, which tools write that cannot compute it, is bad over IPv6, too.
func TestZeroICRCOverIPv6IsBad(t *testing.T) {
	var tape tape
	r := tape.send(netip6("fd00::1"), netip6("fd00::2"), bth.Packet{Opcode: bth.RCSendOnly}, 8)
	require.Equal(t, ICRCGood, Decode(r).ICRC)
	copy(r.Data[len(r.Data)-4:], make([]byte, 4))
	require.Equal(t, ICRCBad, Decode(r).ICRC)
}

// A capture that cuts packets off still shows the headers it holds, with the
// lengths of the wire; their ICRC is not computable.
func TestCutCapture(t *testing.T) {
	var tape tape
	r := tape.send(alice, bob, bth.Packet{Opcode: bth.RCWriteOnly, PSN: 7, RETH: bth.RETH{VA: 0x1000, RKey: 2, Len: 100}}, 100)
	const (
		headers  = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
		checksum = 2 // the last bytes of the UDP header: nobody needs them
	)
	whole := r.Data
	for n := range whole {
		r.Data = whole[:n]
		p := Decode(r)
		switch {
		case n < headers-checksum:
			require.Nil(t, p, "%d bytes", n)
		case n < headers+bth.BTHLen+bth.RETHLen:
			require.ErrorIs(t, p.Err, ErrCut, "%d bytes", n)
		default:
			require.NoError(t, p.Err, "%d bytes", n)
			require.Equal(t, "RDMA WRITE Only PSN 7 va 0x1000 rkey 0x2 len 100 (100 B)", p.Label())
			require.Equal(t, ICRCNotCaptured, p.ICRC)
		}
	}
}

// Datagrams of every length up to 40 bytes, with each pad count: what is shorter
// than headers, pad and ICRC is listed as broken, and nothing panics.
func TestShortDatagrams(t *testing.T) {
	for _, o := range []bth.Opcode{bth.RCSendOnly, bth.RCWriteOnly, bth.RCReadRequest, bth.RCAcknowledge, bth.RCFetchAdd, 0xff} {
		for pad := range 4 {
			for n := range 41 {
				payload := make([]byte, n)
				if n > 1 {
					payload[0], payload[1] = byte(o), byte(pad<<4)
				}
				h := wire.Headers{Src: alice, Dst: bob, SrcPort: 50000, DstPort: wire.Port, ID: 1, Flags: wire.DontFragment}
				var c tape
				c.add(append(h.AppendFrame(nil, n), payload...))
				p := c.annotate()[0]
				whole := o.Known() && n >= o.HeaderLen()+pad+wire.ICRCLen
				require.Equal(t, whole, p.Err == nil, "%s pad %d length %d: %v", o, pad, n, p.Err)
				require.NotEmpty(t, p.Label())
				require.True(t, p.Trouble())
				require.Equal(t, n < bth.BTHLen+wire.ICRCLen, p.ICRC == ICRCTooShort)
			}
		}
	}
}

// The same packet is found behind each link header.
func TestLinkTypes(t *testing.T) {
	var tape tape
	ethernet := tape.send(alice, bob, bth.Packet{Opcode: bth.RCSendOnly, PSN: 7}, 8).Data
	ip := ethernet[wire.EthernetLen:]
	cooked := binary.BigEndian.AppendUint16(make([]byte, 14), 0x0800)
	cooked2 := append([]byte{0x08, 0x00}, make([]byte, 18)...)
	tagged := append(append(ethernet[:12:12], 0x81, 0x00, 0x00, 0x05), ethernet[12:]...)
	for _, rec := range []Record{
		{Link: LinkEthernet, Data: ethernet},
		{Link: LinkEthernet, Data: tagged},
		{Link: LinkRaw, Data: ip},
		{Link: LinkIPv4, Data: ip},
		{Link: LinkSLL, Data: append(cooked, ip...)},
		{Link: LinkSLL2, Data: append(cooked2, ip...)},
	} {
		p := Decode(&rec)
		require.NotNil(t, p, "%s", rec.Link)
		require.Equal(t, ICRCGood, p.ICRC, "%s", rec.Link)
		require.True(t, rec.Link.Supported())
	}
	require.Nil(t, Decode(&Record{Link: 105, Data: ethernet}))
	require.False(t, LinkType(105).Supported())
}

// Datagrams to QP1 that are no CM message of a known kind are said to be so.
func TestForeignManagementDatagram(t *testing.T) {
	var tape tape
	p := bth.Packet{Opcode: bth.UDSendOnly, DestQP: 1, DETH: bth.DETH{QKey: 0x80010000, SrcQP: 1}}
	require.Equal(t, "management datagram, class 0x00, attribute 0x0000: mad: not a CM datagram of base version 1 and class version 2",
		Decode(tape.send(alice, bob, p, 256)).Label())
	require.Equal(t, "management datagram, class 0x00, attribute 0x0000: mad: datagram shorter than 256 bytes",
		Decode(tape.send(alice, bob, p, 100)).Label())
}
