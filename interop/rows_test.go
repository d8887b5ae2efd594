//go:build linux

package interop

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// newRow is the result of cells that passed against a guest, today and with this
// commit, and the packets of them.
func newRow(t *testing.T, g *guest.Guest, suite, name string, passed int, packets []*decode.Packet) Row {
	t.Helper()
	release, err := g.Run(bounded(t), "uname -r")
	require.NoError(t, err)
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	require.NoError(t, err, "git describe")
	r := Row{
		Kernel: strings.TrimSpace(release.Stdout), Suite: suite, Case: name, Passed: passed, Packets: len(packets),
		Date: time.Now().UTC().Format(time.DateOnly), Commit: strings.TrimSpace(string(commit)),
	}
	for _, n := range retransmissions(packets) {
		r.Retransmits += n
	}
	t.Logf("%+v", r)
	return r
}

// keep writes the rows of a full run, and the page.
func keep(t *testing.T, rows []Row) {
	t.Helper()
	require.NoError(t, Replace(resultsFile, rows))
	all, err := Read(resultsFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pageFile, Page(all), 0o644))
}
