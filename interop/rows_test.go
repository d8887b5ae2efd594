//go:build linux

package interop

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// newRow is the result of cells that passed against a guest, today and with this
// commit, and the packets of them.
func newRow(t *testing.T, g *guest.Guest, suite, name string, passed int, packets []*decode.Packet) Row {
	t.Helper()
	r := Row{
		Kernel: release(t, g), Suite: suite, Case: name, Passed: passed, Packets: len(packets),
		Date: today(), Commit: testedCommit(t),
	}
	for _, n := range retransmissions(packets) {
		r.Retransmits += n
	}
	t.Logf("%+v", r)
	return r
}

// release is the guest's kernel, as uname -r prints it.
func release(t *testing.T, g *guest.Guest) string {
	t.Helper()
	r, err := g.Run(bounded(t), "uname -r")
	require.NoError(t, err)
	return strings.TrimSpace(r.Stdout)
}

// keep writes the rows of a full run, and the page.
func keep(t *testing.T, rows []Row) {
	t.Helper()
	require.NoError(t, Replace(resultsFile, rows))
	all, err := Read(resultsFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pageFile, Page(all), 0o644))
}
