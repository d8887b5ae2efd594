package pingpong

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// captured is what ibv_rc_pingpong of rdma-core 44 sent over rdma_rxe.
const captured = "0000:000011:12b18b:00000000000000000000ffff0a0a0003\x00"

var capturedEndpoint = Endpoint{QPN: 0x11, PSN: 0x12b18b, GID: wire.GID{10: 0xff, 0xff, 10, 10, 0, 3}}

func TestMessageIsTheTools(t *testing.T) {
	m := capturedEndpoint.message()
	require.Equal(t, captured, string(m[:]))
	e, err := parseMessage([messageLen]byte([]byte(captured)))
	require.NoError(t, err)
	require.Equal(t, capturedEndpoint, e)
}

func TestMessageKeepsEveryEndpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Endpoint{
			LID: rapid.Uint16().Draw(t, "LID"),
			QPN: rapid.Uint32Range(2, 0xfffffe).Draw(t, "QPN"),
			PSN: bth.PSN(rapid.Uint32Range(0, 0xffffff).Draw(t, "PSN")),
			GID: wire.GID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "GID")),
		}
		if e.connectable() != nil {
			t.Skip("no connection can be made to", e)
		}
		got, err := parseMessage(e.message())
		if err != nil || got != e {
			t.Fatalf("%v came back as %v, %v", e, got, err)
		}
	})
}

func TestMessageOfHostilePeerIsRefused(t *testing.T) {
	for what, m := range map[string]string{
		"garbage":         "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nUser-Agent: curl\r\n\r",
		"zeros":           string(make([]byte, messageLen)),
		"sign":            "0000:-00011:12b18b:00000000000000000000ffff0a0a0003\x00",
		"blank":           "0000: 00011:12b18b:00000000000000000000ffff0a0a0003\x00",
		"prefix":          "0000:0x0011:12b18b:00000000000000000000ffff0a0a0003\x00",
		"moved colon":     "00000:00011:12b18b:00000000000000000000ffff0a0a0003\x00",
		"no end":          "0000:000011:12b18b:00000000000000000000ffff0a0a00030",
		"GID of no hex":   "0000:000011:12b18b:00000000000000000000ffff0a0a000g\x00",
		"no GID":          "0000:000011:12b18b:00000000000000000000000000000000\x00",
		"0.0.0.0":         "0000:000011:12b18b:00000000000000000000ffff00000000\x00",
		"multicast GID":   "0000:000011:12b18b:ff020000000000000000000000000001\x00",
		"QP0":             "0000:000000:12b18b:00000000000000000000ffff0a0a0003\x00",
		"QP1":             "0000:000001:12b18b:00000000000000000000ffff0a0a0003\x00",
		"multicast QPN":   "0000:ffffff:12b18b:00000000000000000000ffff0a0a0003\x00",
		"underscore":      "0000:00_011:12b18b:00000000000000000000ffff0a0a0003\x00",
		"NULs for digits": "0000:\x00\x00\x00\x00\x00\x00:12b18b:00000000000000000000ffff0a0a0003\x00",
	} {
		var raw [messageLen]byte
		copy(raw[:], m)
		_, err := parseMessage(raw)
		require.Error(t, err, what)
	}
}
