package roce_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// E12: failures that come by the hundred thousand print nothing: they are counted,
// under a name that says what was wrong, and each tells whoever posted the work.
func TestFailingReadsAreCountedAndNotLogged(t *testing.T) {
	const reads = 100_000
	p := newUnconnected(t, roce.QPConfig{})
	remote := p.b.mr.Remote()
	printed := whatIsPrinted(t, func() {
		for range reads {
			for _, ends := range [][2]*end{{p.a, p.b}, {p.b, p.a}} {
				must(ends[0].qp.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
				must(ends[0].qp.Connect(ends[1].qp.Info()))
			}
			p.a.send(roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, 8), RemoteAddr: remote.Addr, RKey: remote.Key ^ 1})
			if wc := p.wait(p.a, 1)[0]; wc.Status != roce.StatusRemoteAccess {
				require.Equal(t, roce.StatusRemoteAccess, wc.Status)
			}
		}
	})
	require.Empty(t, printed)
	require.Contains(t, p.b.dev.Stats(), roce.Counter{Name: "received: R_Key unknown", Value: reads})
	require.ErrorContains(t, p.a.qp.Err(), fmt.Sprintf("QP 0x%06x, connected to QP 0x%06x at 10.0.0.2", p.a.qp.QPN(), p.b.qp.QPN()))
	t.Log(p.a.qp.Err())
}

// whatIsPrinted is what the process prints while f runs, by any of the usual ways.
func whatIsPrinted(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	text := make(chan string)
	go func() {
		var b strings.Builder
		_, _ = io.Copy(&b, r) // until w is closed
		text <- b.String()
	}()
	stdout, stderr, logged := os.Stdout, os.Stderr, log.Writer()
	os.Stdout, os.Stderr = w, w
	log.SetOutput(w)
	defer func() { os.Stdout, os.Stderr = stdout, stderr; log.SetOutput(logged) }()
	f()
	require.NoError(t, w.Close())
	return <-text
}
