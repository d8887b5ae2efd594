package pingpong

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/wire"
)

// Two reports that ibv_rc_pingpong of rdma-core 44 printed.
const toolReport = `  local address:  LID 0x0000, QPN 0x000011, PSN 0x12b18b, GID ::ffff:10.10.0.3
  remote address: LID 0x0000, QPN 0x000011, PSN 0x2356bd, GID ::ffff:10.10.0.2
40960 bytes in 0.06 seconds = 5.42 Mbit/sec
5 iters in 0.06 seconds = 12088.00 usec/iter
`

const toolReportIPv6 = `  local address:  LID 0x0000, QPN 0x000014, PSN 0xb2df5b, GID fd00:10::2
  remote address: LID 0x0000, QPN 0x000014, PSN 0xe5971e, GID fd00:10::3
40960 bytes in 0.07 seconds = 4.56 Mbit/sec
5 iters in 0.07 seconds = 14385.40 usec/iter
`

func gid(s string) wire.GID { return wire.GIDOf(netip.MustParseAddr(s)) }

func TestReportIsTheTools(t *testing.T) {
	for want, r := range map[string]*Result{
		toolReport: {
			Local:  Endpoint{QPN: 0x11, PSN: 0x12b18b, GID: gid("10.10.0.3")},
			Remote: Endpoint{QPN: 0x11, PSN: 0x2356bd, GID: gid("10.10.0.2")},
			Size:   4096, Iters: 5, Elapsed: 60440 * time.Microsecond,
		},
		toolReportIPv6: {
			Local:  Endpoint{QPN: 0x14, PSN: 0xb2df5b, GID: gid("fd00:10::2")},
			Remote: Endpoint{QPN: 0x14, PSN: 0xe5971e, GID: gid("fd00:10::3")},
			Size:   4096, Iters: 5, Elapsed: 71927 * time.Microsecond,
		},
	} {
		var b strings.Builder
		printLocal(&b, r.Local)
		printRemote(&b, r.Remote)
		r.print(&b)
		require.Equal(t, want, b.String())
	}
}

func TestReportInJSON(t *testing.T) {
	counted := roce.Counters{roce.CounterTxRetransmits: 3}
	counters, err := json.Marshal(counted)
	require.NoError(t, err)
	require.Contains(t, string(counters), `"tx_retransmits":3`)
	b, err := json.Marshal(&Result{
		Local:  Endpoint{QPN: 17, PSN: 1, GID: gid("10.10.0.3")},
		Remote: Endpoint{QPN: 18, PSN: 2, GID: gid("fd00::1")},
		Link:   "xdp eth0, native, copy",
		Size:   1000, Iters: 4, Elapsed: 2 * time.Millisecond, Checked: 4, Retransmitted: 3, Counters: counted,
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"local":  {"lid": 0, "qpn": 17, "psn": 1, "gid": "::ffff:10.10.0.3"},
		"remote": {"lid": 0, "qpn": 18, "psn": 2, "gid": "fd00::1"},
		"link": "xdp eth0, native, copy",
		"size": 1000, "iters": 4, "bytes": 8000, "seconds": 0.002,
		"mbit_per_sec": 32, "usec_per_iter": 500, "checked": 4, "retransmitted": 3,
		"counters": `+string(counters)+`
	}`, string(b))
}

// A run that the clock cannot tell from nothing has no infinite speed.
func TestReportOfNoTime(t *testing.T) {
	b, err := json.Marshal(&Result{Size: 1, Iters: 1})
	require.NoError(t, err)
	require.NotContains(t, string(b), "Inf")
}
