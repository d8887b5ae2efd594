package decode

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown counts the packets that a filter takes of a capture.
func shown(t *testing.T, capture string, f Filter) int {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Print(&b, "testdata/captures/"+capture, Options{Filter: f, Format: JSONLines}))
	return strings.Count(b.String(), "\n")
}

func op(t *testing.T, names ...string) (f Filter) {
	t.Helper()
	for _, n := range names {
		o, err := ParseOp(n)
		require.NoError(t, err)
		f.Ops = append(f.Ops, o)
	}
	return f
}

func psn(t *testing.T, s string) Filter {
	t.Helper()
	r, err := ParsePSNRange(s)
	require.NoError(t, err)
	return Filter{PSNs: r}
}

// Each filter takes what it names. The counts follow from what the captures hold.
func TestFilters(t *testing.T) {
	for _, c := range []struct {
		name, capture string
		filter        Filter
		want          int
	}{
		{"all", "nvme_rdma_discover.pcap", Filter{}, 85},
		{"send", "nvme_rdma_discover.pcap", op(t, "send"), 36}, // 26, 5 with invalidate, and the datagrams of cm
		{"write", "nvme_rdma_discover.pcap", op(t, "write"), 12},
		{"read", "nvme_rdma_discover.pcap", op(t, "read"), 2},
		{"ack", "nvme_rdma_discover.pcap", op(t, "ack"), 35},
		{"cm", "nvme_rdma_discover.pcap", op(t, "cm"), 5},
		{"write or read", "nvme_rdma_discover.pcap", op(t, "write", "read"), 14},
		{"atomic", "ib_atomic_bw_fetch_and_add.pcap", op(t, "atomic"), 10},
		{"nak", "ib_send_bw_rnr.pcap", op(t, "nak"), 6},
		{"rnr", "ib_send_bw_rnr.pcap", op(t, "rnr"), 6},
		{"cnp", "ib_send_bw_rnr.pcap", op(t, "cnp"), 0},
		{"ce", "ib_send_bw_rnr.pcap", op(t, "ce"), 0},
		{"cnp of an adapter", "../adapters/connectx_cnp.pcap", op(t, "cnp"), 1},
		{"one QP", "srq_pingpong.pcap", Filter{QPs: []uint32{0x18}}, 18},
		{"two QPs", "srq_pingpong.pcap", Filter{QPs: []uint32{0x18, 0x19}}, 36},
		{"QP by its sender alone", "rc_pingpong.pcap", Filter{QPs: []uint32{0x12}}, 0},
		{"one PSN", "vt_psn_wrap.pcap", psn(t, "0x2"), 2}, // a WRITE's last packet and its ACK
		{"PSNs through the wrap", "vt_psn_wrap.pcap", psn(t, "16777213-2"), 7},
		{"host", "rc_pingpong.pcap", Filter{Hosts: []netip.Addr{netip.MustParseAddr("10.10.0.2")}}, 50},
		{"other host", "rc_pingpong.pcap", Filter{Hosts: []netip.Addr{netip.MustParseAddr("10.10.0.9")}}, 0},
		{"trouble", "vt_err_timeout.pcap", Filter{Trouble: true}, 9},
		{"numbers", "vt_err_timeout.pcap", Filter{From: 13, To: 20}, 5},
	} {
		require.Equal(t, c.want, shown(t, c.capture, c.filter), c.name)
	}
}

// What is no value of a filter is refused with words that help.
func TestFilterErrors(t *testing.T) {
	_, err := ParseQPN("0x1000000")
	require.EqualError(t, err, `"0x1000000" is no queue pair number; give 24 bits such as 17 or 0x11`)
	_, err = ParsePSNRange("5-")
	require.EqualError(t, err, `"5-" is no PSN or range of PSNs; give 24-bit numbers such as 100 or 100-0x80`)
	_, err = ParseOp("recv")
	require.EqualError(t, err, `"recv" is no kind of packet; there are send, write, read, atomic, ack, nak, rnr, cnp, ce, cm`)
}
