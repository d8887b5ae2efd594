package main

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

func TestRateLine(t *testing.T) {
	require.Equal(t, "QP 0x000011: not slowed down, line rate unknown", rateLine("QP 0x000011", roce.Rate{}))
	require.Equal(t, "QP 0x000011: rate 4.980 Gb/s, target 9.500 Gb/s, line rate 10.000 Gb/s, alpha 0.996",
		rateLine("QP 0x000011", roce.Rate{BitsPerSec: 4.98e9, Target: 9.5e9, Line: 10e9, Alpha: 0.9961}))
}

// The line is written once a second, over the one before, and ended when all is over.
func TestWatchRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(1, simnet.RealTime())
		dev, err := roce.Open(w.Link("a", netip.MustParseAddr("10.0.0.1"), simnet.Bandwidth(25e9)))
		require.NoError(t, err)
		defer dev.Close()
		pd, err := dev.AllocPD()
		require.NoError(t, err)
		cq, err := dev.CreateCQ(1)
		require.NoError(t, err)
		q, err := pd.CreateQP(roce.QPConfig{SendCQ: cq, DCQCN: &roce.DCQCN{}})
		require.NoError(t, err)
		var out strings.Builder
		done := watchRate(&out, dev, q)
		time.Sleep(2500 * time.Millisecond)
		done()
		line := "\r\x1b[K" + regexp.QuoteMeta(q.String()) + ": not slowed down, line rate [^ ]+ ?[^ ]*, 0 CNPs"
		require.Regexp(t, "^"+line+line+"\n$", out.String())
		done = watchRate(&out, dev, q)
		out.Reset()
		done()
		require.Empty(t, out.String())
	})
}
