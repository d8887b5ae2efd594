package bth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
)

// Every syndrome belongs to one kind, the reserved ones to none.
func TestSyndromeKinds(t *testing.T) {
	for v := range 256 {
		s := bth.Syndrome(v)
		require.Equal(t, v < 0x20, s.IsACK(), "%#02x", v)
		require.Equal(t, v >= 0x20 && v < 0x40, s.IsRNR(), "%#02x", v)
		require.Equal(t, v >= 0x60 && v < 0x80, s.IsNAK(), "%#02x", v)
		require.EqualValues(t, v%32, s.Value())
	}
	for code := range uint8(32) {
		require.EqualValues(t, 0x20+code, bth.RNRNAK(code))
	}
}

func TestSyndromeStrings(t *testing.T) {
	for s, want := range map[bth.Syndrome]string{
		bth.ACKUnlimited:       "ACK",
		0x05:                   "ACK (6 credits)",
		bth.RNRNAK(14):         "RNR NAK (wait 1.28ms)",
		bth.NAKSequence:        "NAK PSN sequence error",
		bth.NAKInvalidRequest:  "NAK invalid request",
		bth.NAKRemoteAccess:    "NAK remote access error",
		bth.NAKRemoteOperation: "NAK remote operational error",
		bth.NAKInvalidRD:       "NAK invalid RD request",
		0x65:                   "reserved syndrome 0x65",
		0x40:                   "reserved syndrome 0x40",
		0x80:                   "reserved syndrome 0x80",
		0xff:                   "reserved syndrome 0xff",
	} {
		require.Equal(t, want, s.String())
	}
}

// IBTA vol. 1, table 45.
func TestCredits(t *testing.T) {
	want := []int{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
		1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768}
	for code, n := range want {
		got, ok := bth.Syndrome(code).Credits()
		require.True(t, ok)
		require.Equal(t, n, got, "code %d", code)
	}
	for v := 31; v < 256; v++ {
		_, ok := bth.Syndrome(v).Credits()
		require.False(t, ok, "%#02x", v)
	}
}

// Announcing rounds down to what has a code: never more than there are.
func TestACKCredits(t *testing.T) {
	for n := range 40_000 {
		s := bth.ACKCredits(n)
		got, ok := s.Credits()
		require.True(t, ok)
		require.LessOrEqual(t, got, n)
		if next, ok := (s + 1).Credits(); ok {
			require.Greater(t, next, n)
		}
	}
}

// IBTA vol. 1, table 46, in milliseconds.
func TestRNRDelays(t *testing.T) {
	want := []float64{655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
		2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52}
	for code, ms := range want {
		require.Equal(t, time.Duration(ms*100+0.5)*10*time.Microsecond, bth.RNRDelay(uint8(code)), "code %d", code)
		require.Equal(t, bth.RNRDelay(uint8(code)), bth.RNRDelay(uint8(code)|0xe0), "only five bits count")
	}
}
