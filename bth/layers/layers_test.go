package layers_test

import (
	"slices"
	"testing"

	"github.com/google/gopacket"
	gplayers "github.com/google/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/bth/layers"
	"github.com/rocinante-rdma/roce/cm/mad"
)

// decode decodes a captured frame and fails if gopacket stopped before its end.
func decode(t *testing.T, f bthtest.Frame) gopacket.Packet {
	t.Helper()
	p := gopacket.NewPacket(f.Bytes, gplayers.LayerTypeEthernet, gopacket.Default)
	require.Nil(t, p.ErrorLayer(), f.Name)
	return p
}

func types(p gopacket.Packet) (names []string) {
	for _, l := range p.Layers() {
		names = append(names, l.LayerType().String())
	}
	return names
}

// behind lists the layers behind the BTH of every captured kind of packet.
var behind = map[string][]string{
	"SEND Only, empty":               {},
	"SEND Only, pad 3":               {"Payload"},
	"SEND Only with Invalidate":      {"IETH", "Payload"},
	"RDMA WRITE Only, empty":         {"RETH"},
	"RDMA WRITE Only":                {"RETH", "Payload"},
	"RDMA WRITE Only with Immediate": {"RETH", "ImmDt", "Payload"},
	"RDMA READ Request":              {"RETH"},
	"RDMA READ Response Only":        {"AETH", "Payload"},
	"CmpSwap":                        {"AtomicETH"},
	"FetchAdd":                       {"AtomicETH"},
	"ATOMIC Acknowledge":             {"AETH", "AtomicAckETH"},
	"Acknowledge":                    {"AETH"},
	"RNR NAK":                        {"AETH"},
	"NAK PSN sequence error":         {"AETH"},
	"NAK remote access error":        {"AETH"},
	"NAK remote operational error":   {"AETH"},
	"Acknowledge, IPv6":              {"AETH"},
	"Acknowledge, Linux 7.3":         {"AETH"},
	"UD SEND Only, CM REQ":           {"DETH", "MAD", "CM"},
	"UD SEND Only, CM REJ":           {"DETH", "MAD", "CM"},
	"CNP, ConnectX-4 Lx":             {"CNP"},
}

func TestLayersOfRealFrames(t *testing.T) {
	frames := bthtest.Frames(t)
	require.Len(t, behind, len(frames))
	for _, f := range frames {
		ip := "IPv4"
		if f.Parse(t).Src.Is6() {
			ip = "IPv6"
		}
		want := append([]string{"Ethernet", ip, "UDP", "BTH"}, behind[f.Name]...)
		p := decode(t, f)
		require.Equal(t, append(want, "ICRC"), types(p), f.Name)

		good, err := layers.VerifyICRC(p)
		require.NoError(t, err, f.Name)
		require.True(t, good, f.Name)
		require.NotPanics(t, func() { _ = p.String() + p.Dump() }, f.Name)
	}
}

// Together the layers hold every byte of the packet once, but for the pad.
func TestLayersCoverThePacket(t *testing.T) {
	for _, f := range bthtest.Frames(t) {
		p := decode(t, f)
		var got []byte
		for _, l := range p.Layers()[3:] {
			if l.LayerType() == layers.LayerTypeICRC {
				got = append(got, make([]byte, layer[*layers.BTH](t, p, layers.LayerTypeBTH).Pad)...)
			}
			got = append(got, l.LayerContents()...)
		}
		require.Equal(t, f.Parse(t).Payload, got, f.Name)
	}
}

func layer[L gopacket.Layer](t *testing.T, p gopacket.Packet, lt gopacket.LayerType) L {
	t.Helper()
	l, ok := p.Layer(lt).(L)
	require.True(t, ok, "%v: %v", lt, types(p))
	return l
}

// Fields of the layers equal what package bth reads from the same bytes.
func TestFields(t *testing.T) {
	for _, f := range bthtest.Frames(t) {
		want := bthtest.Parse(t, f.Packet(t))
		p := decode(t, f)
		b := layer[*layers.BTH](t, p, layers.LayerTypeBTH)
		bthtest.Equal(t, want, b.Packet())
		require.Equal(t, bth.Packet{Opcode: b.Opcode, Solicited: b.Solicited, MigReq: b.MigReq, Pad: b.Pad, TVer: b.TVer, PKey: b.PKey,
			FECN: b.FECN, BECN: b.BECN, DestQP: b.DestQP, AckReq: b.AckReq, PSN: b.PSN},
			bth.Packet{Opcode: want.Opcode, Solicited: want.Solicited, MigReq: want.MigReq, Pad: want.Pad, TVer: want.TVer, PKey: want.PKey,
				FECN: want.FECN, BECN: want.BECN, DestQP: want.DestQP, AckReq: want.AckReq, PSN: want.PSN}, f.Name)
	}
}

func named(t *testing.T, name string) gopacket.Packet { return decode(t, bthtest.FrameNamed(t, name)) }

func TestExtensionFields(t *testing.T) {
	p := named(t, "RDMA WRITE Only with Immediate")
	require.Equal(t, bth.RETH{VA: 0x7f1dbc00c010, RKey: 0x132a, Len: 16}, layer[*layers.RETH](t, p, layers.LayerTypeRETH).RETH)
	require.EqualValues(t, uint32(0x80000180), layer[*layers.ImmDt](t, p, layers.LayerTypeImmDt).Imm)
	require.Len(t, p.ApplicationLayer().Payload(), 16)

	p = named(t, "ATOMIC Acknowledge")
	require.Equal(t, bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}, layer[*layers.AETH](t, p, layers.LayerTypeAETH).AETH)
	require.EqualValues(t, uint64(0x799c83972aa39356), layer[*layers.AtomicAckETH](t, p, layers.LayerTypeAtomicAckETH).Original)

	p = named(t, "FetchAdd")
	require.EqualValues(t, 1, layer[*layers.AtomicETH](t, p, layers.LayerTypeAtomicETH).SwapAdd)

	p = named(t, "SEND Only with Invalidate")
	require.EqualValues(t, 0x6d39, layer[*layers.IETH](t, p, layers.LayerTypeIETH).RKey)

	p = named(t, "UD SEND Only, CM REQ")
	require.Equal(t, bth.DETH{QKey: mad.QKey, SrcQP: 1}, layer[*layers.DETH](t, p, layers.LayerTypeDETH).DETH)
	require.Equal(t, mad.AttrREQ, layer[*layers.MAD](t, p, layers.LayerTypeMAD).Header.Attribute)
	require.IsType(t, &mad.REQ{}, layer[*layers.CM](t, p, layers.LayerTypeCM).Message)

	p = named(t, "CNP, ConnectX-4 Lx")
	require.Len(t, layer[*layers.CNP](t, p, layers.LayerTypeCNP).Contents, 16)
	require.EqualValues(t, 0x2a00fd82, layer[*layers.ICRC](t, p, layers.LayerTypeICRC).Value)
}

// Every defined opcode decodes to its own headers, those no capture has included.
func TestEveryOpcode(t *testing.T) {
	for v := range 256 {
		op := bth.Opcode(v)
		if !op.Known() {
			continue
		}
		raw := append(bthtest.Build(op, bthtest.Pattern(6)), 1, 2, 3, 4)
		p := gopacket.NewPacket(raw, layers.LayerTypeBTH, gopacket.Default)
		require.Nil(t, p.ErrorLayer(), "%v", op)
		n := 0
		for _, l := range p.Layers() {
			if !slices.Contains([]gopacket.LayerType{gopacket.LayerTypePayload, layers.LayerTypeICRC}, l.LayerType()) {
				n += len(l.LayerContents())
			}
		}
		require.Equal(t, op.HeaderLen(), n, "%v: %v", op, types(p))
		require.Len(t, p.ApplicationLayer().Payload(), 6, "%v", op)
	}
}

func TestUndefinedOpcode(t *testing.T) {
	raw := append(bthtest.Build(bth.RCSendOnly), 1, 2, 3, 4)
	raw[0] = 0xff
	p := gopacket.NewPacket(raw, layers.LayerTypeBTH, gopacket.Default)
	require.Equal(t, bth.Opcode(0xff), layer[*layers.BTH](t, p, layers.LayerTypeBTH).Opcode)
	require.ErrorIs(t, p.ErrorLayer().Error(), bth.ErrOpcode)
}

// A MAD of another class than CM keeps its body as payload.
func TestOtherMAD(t *testing.T) {
	body := make([]byte, mad.Size)
	body[1] = 4
	raw := append(bthtest.Build(bth.UDSendOnly, bthtest.QP(mad.QPN), bthtest.Payload(body)), 1, 2, 3, 4)
	p := gopacket.NewPacket(raw, layers.LayerTypeBTH, gopacket.Default)
	require.Equal(t, []string{"BTH", "DETH", "MAD", "Payload", "ICRC"}, types(p))

	raw = append(bthtest.Build(bth.UDSendOnly, bthtest.Payload(body)), 1, 2, 3, 4)
	p = gopacket.NewPacket(raw, layers.LayerTypeBTH, gopacket.Default)
	require.Equal(t, []string{"BTH", "DETH", "Payload", "ICRC"}, types(p), "only queue pair 1 takes MADs")
}

// At every length of every frame: no panic, and no ICRC made up of other bytes.
func TestTruncated(t *testing.T) {
	for _, f := range bthtest.Frames(t) {
		for n := range f.Bytes {
			p := gopacket.NewPacket(f.Bytes[:n], gplayers.LayerTypeEthernet, gopacket.Default)
			require.Nil(t, p.Layer(layers.LayerTypeICRC), "%s, %d bytes: %v", f.Name, n, types(p))
			_, err := layers.VerifyICRC(p)
			require.ErrorIs(t, err, layers.ErrNoICRC, "%s, %d bytes", f.Name, n)
		}
	}
}

func TestVerifyICRCFindsDamage(t *testing.T) {
	f := bthtest.FrameNamed(t, "SEND Only, pad 3")
	f.Bytes[80] ^= 1
	good, err := layers.VerifyICRC(decode(t, f))
	require.NoError(t, err)
	require.False(t, good)
}
