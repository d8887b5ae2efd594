package mad

import (
	"bytes"
	"math/bits"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reserved is the number of reserved bits in each message (IBTA vol. 1, 12.6).
var reserved = map[Attribute]int{
	AttrREQ:     32 + 32 + 2*(6+3+3),
	AttrREP:     8 + 8 + 8 + 4,
	AttrRTU:     0,
	AttrMRA:     6 + 3,
	AttrREJ:     6 + 1,
	AttrDREQ:    8,
	AttrDREP:    0,
	AttrSIDRReq: 16,
	AttrSIDRRep: 16 + 8,
}

// datagram is a MAD with a good header and the given message bytes.
func datagram(a Attribute, data []byte) []byte {
	b := make([]byte, Size)
	h := NewHeader(a, 0x0102030405060708)
	h.put(b)
	copy(b[HeaderLen:], data)
	return b
}

// Whatever bits come in, every field keeps all of its own and none of another's:
// what is encoded again is the input with the reserved bits cleared.
func TestRoundTrip(t *testing.T) {
	for a, want := range reserved {
		t.Run(a.String(), func(t *testing.T) {
			mask := rebuild(t, datagram(a, bytes.Repeat([]byte{0xff}, DataLen)))
			zeros := 0
			for _, b := range mask[HeaderLen:] {
				zeros += bits.OnesCount8(^b)
			}
			require.Equal(t, want, zeros, "reserved bits")
			rapid.Check(t, func(t *rapid.T) {
				data := rapid.SliceOfN(rapid.Byte(), DataLen, DataLen).Draw(t, "data")
				got := rebuild(t, datagram(a, data))
				for i := range data {
					data[i] &= mask[HeaderLen+i]
				}
				require.Equal(t, datagram(a, data), got)
			})
		})
	}
}

func rebuild(t require.TestingT, b []byte) []byte {
	h, m, err := Parse(b)
	require.NoError(t, err)
	require.Equal(t, h.Attribute, m.Attribute())
	out := bytes.Repeat([]byte{0xaa}, Size)
	Put(out, h, m)
	return out
}

// Fields lie where the specification has them: offsets within the message, from a
// datagram whose every byte is its offset.
func TestFieldOffsets(t *testing.T) {
	data := make([]byte, DataLen)
	for i := range data {
		data[i] = byte(i)
	}
	_, m, err := Parse(datagram(AttrREQ, data))
	require.NoError(t, err)
	q := m.(*REQ)
	require.Equal(t, CommID(0x00010203), q.LocalCommID)
	require.Equal(t, ServiceID(0x08090a0b0c0d0e0f), q.Service)
	require.Equal(t, GUID(0x1011121314151617), q.LocalGUID)
	require.Equal(t, uint32(0x202122), q.LocalQPN)
	require.Equal(t, uint8(0x23), q.ResponderRes)
	require.Equal(t, uint32(0x2c2d2e), q.StartingPSN)
	require.Equal(t, uint8(0x2f&7), q.RetryCount)
	require.Equal(t, uint16(0x3031), q.PKey)
	require.Equal(t, uint8(56), q.Primary.LocalGID.As16()[0])
	require.Equal(t, uint32(0x58595a5b>>12), q.Primary.FlowLabel)
	require.Equal(t, uint8(95>>3), q.Primary.AckTimeout)
	require.Equal(t, byte(140), q.PrivateData[0])
	require.Len(t, q.PrivateData, 92)
}

// What is no CM datagram is refused with its reason, and its header still read.
func TestRefused(t *testing.T) {
	good := datagram(AttrRTU, nil)
	for n := range Size {
		_, _, err := Parse(good[:n])
		require.ErrorIs(t, err, ErrShort)
	}
	foreign := bytes.Clone(good)
	foreign[1] = 4
	h, _, err := Parse(foreign)
	require.ErrorIs(t, err, ErrClass)
	require.Equal(t, uint8(4), h.Class)
	_, _, err = Parse(datagram(AttrLAP, nil))
	require.ErrorIs(t, err, ErrAttr)
}

// Private data longer than its field is cut, and must not run over the datagram.
func TestPrivateDataIsBounded(t *testing.T) {
	long := bytes.Repeat([]byte{7}, 1000)
	for _, m := range []Message{
		&REQ{PrivateData: long}, &REP{PrivateData: long}, &RTU{PrivateData: long}, &MRA{PrivateData: long},
		&REJ{PrivateData: long, Info: long}, &DREQ{PrivateData: long}, &DREP{PrivateData: long},
		&SIDRReq{PrivateData: long}, &SIDRRep{PrivateData: long, Info: long},
	} {
		b := make([]byte, Size+1)
		Put(b, NewHeader(m.Attribute(), 1), m)
		require.Zero(t, b[Size])
		require.Equal(t, byte(7), b[Size-1])
	}
}

// The caller's address comes back, for both families; other private data is not
// taken for one.
func TestAddress(t *testing.T) {
	for _, ip := range []string{"10.1.2.3", "fd00::1"} {
		a := Address{IPVersion: 4, SrcPort: 4420, Src: netip.MustParseAddr(ip), Dst: netip.MustParseAddr(ip)}
		if a.Src.Is6() {
			a.IPVersion = 6
		}
		b := make([]byte, AddressLen+2)
		a.Put(b)
		got, user, ok := ParseAddress(b)
		require.True(t, ok)
		require.Equal(t, a, got)
		require.Len(t, user, 2)
	}
	_, _, ok := ParseAddress(make([]byte, 92))
	require.False(t, ok, "IP version 0")
	_, _, ok = ParseAddress(make([]byte, 35))
	require.False(t, ok, "too short")
}

// Numbers say what they mean.
func TestWords(t *testing.T) {
	require.Equal(t, "TCP port 4420", (SpaceTCP | 4420).String())
	require.Equal(t, "service 0000000000000001", ServiceID(1).String())
	require.Equal(t, "refused by the application", ReasonConsumer.String())
	require.Equal(t, "reason 34", Reason(34).String())
	require.Equal(t, "reason 0", Reason(0).String())
	require.Equal(t, "attribute 0x0099", Attribute(0x99).String())
	require.Equal(t, "reserved status", SIDRStatus(6).String())
}
