//go:build linux

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// The results of the last full run, and the page made from them.
const (
	pingpongResults = "../docs/interop-pingpong.jsonl"
	pingpongPage    = "../docs/interop-pingpong.md"
)

// pingpongRow is the result of a cell that passed.
type pingpongRow struct {
	Kernel        string `json:"kernel"` // uname -r
	Link          string `json:"link"`   // of roci
	Role          string `json:"role"`   // of roci
	Family        string `json:"family"`
	LinkMTU       int    `json:"link_mtu"`
	MTU           int    `json:"mtu"`
	Size          int    `json:"size"`
	Iters         int    `json:"iters"` // messages in each direction
	Packets       int    `json:"packets"`
	Retransmitted int    `json:"retransmitted"` // packets of either end
	Date          string `json:"date"`          // as in Row
	Commit        string `json:"commit"`        // as in Row
}

func (c pingpongCell) row(t *testing.T, g *guest.Guest, packets []*decode.Packet) pingpongRow {
	t.Helper()
	again := retransmissions(packets)
	return pingpongRow{
		Kernel: release(t, g), Link: c.link, Role: c.role, Family: c.family, LinkMTU: c.linkMTU, MTU: c.mtu, Size: c.size,
		Iters: pingpongIters, Packets: len(packets), Retransmitted: again[c.hostAddr()] + again[c.guestAddr()],
		Date: today(), Commit: testedCommit(t),
	}
}

// writePingpongRows keeps the results of a full run.
func writePingpongRows(t *testing.T, rows []pingpongRow) {
	t.Helper()
	var lines bytes.Buffer
	for _, r := range rows {
		require.NoError(t, json.NewEncoder(&lines).Encode(r))
	}
	require.NoError(t, os.WriteFile(pingpongResults, lines.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(pingpongPage, pingpongTable(rows), 0o644))
}

// pingpongTable is the page.
func pingpongTable(rows []pingpongRow) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# roci pingpong against ibv_rc_pingpong

Each row is a run of %d messages in each direction between `+"`roci pingpong`"+` and rdma-core's
`+"`ibv_rc_pingpong`"+` on the Linux kernel's rdma_rxe in a virtual machine. In each, both ends
succeeded, every message arrived unchanged in both directions, and a capture of the cable
had no bad ICRC and nothing that tshark calls malformed. Packets sent again are recorded,
and no failure: an emulated machine is slow to answer at times.

This page is made by `+"`make interop-full`"+` from interop-pingpong.jsonl, which it writes too.

| kernel | link | roci is the | over | link MTU | path MTU | bytes | packets | sent again | date | commit |
|---|---|---|---|---|---|---|---|---|---|---|
`, pingpongIters)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %d | %d | %d | %s | %s |\n",
			r.Kernel, r.Link, r.Role, r.Family, r.LinkMTU, r.MTU, r.Size, r.Packets, r.Retransmitted, r.Date, r.Commit)
	}
	return b.Bytes()
}

// The page says what the results say.
func TestPingpongPageIsOfItsResults(t *testing.T) {
	lines, err := os.ReadFile(pingpongResults)
	require.NoError(t, err)
	var rows []pingpongRow
	for d := json.NewDecoder(bytes.NewReader(lines)); d.More(); {
		var r pingpongRow
		require.NoError(t, d.Decode(&r))
		rows = append(rows, r)
	}
	shapes := len(pingpongShapes) + len(pingpongNICLinks)*len(pingpongNIC)
	require.Len(t, rows, len(guest.Kernels())*shapes*len(pingpongRoles)*len(pingpongFamilies))
	page, err := os.ReadFile(pingpongPage)
	require.NoError(t, err)
	require.Equal(t, string(pingpongTable(rows)), string(page))
}
