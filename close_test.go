package roce_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

// C14: something is closed while a READ or a WRITE uses it, at any moment of it. Nothing is
// written to a region after Close has returned, on either side; the work completes, with
// success or with an error that says whose memory it was.
func TestClosingWhatIsInUse(t *testing.T) {
	for _, op := range []roce.Op{roce.OpRead, roce.OpWrite} {
		for name, c := range map[string]struct {
			close func(p *pair) error
			want  []roce.Status // besides success
		}{
			"its own region":     {func(p *pair) error { return p.a.mr.Close() }, []roce.Status{roce.StatusLocalProtection}},
			"the peer's region":  {func(p *pair) error { return p.b.mr.Close() }, []roce.Status{roce.StatusRemoteAccess}},
			"the peer's QP":      {func(p *pair) error { return p.b.qp.Close() }, []roce.Status{roce.StatusRetryExceeded}},
			"the peer's device":  {func(p *pair) error { return p.b.dev.Close() }, []roce.Status{roce.StatusRetryExceeded}},
			"its QP, in the end": {func(p *pair) error { return p.a.qp.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState) }, []roce.Status{roce.StatusFlushed}},
		} {
			seen := map[roce.Status]int{}
			for frames := 0; frames < 80; frames += 3 {
				p := newPair(t, roce.WithRetry(10, 2, 7))
				r := p.b.mr.Remote()
				fill(p.a.mr.Bytes(), 1)
				fill(p.b.mr.Bytes(), 2)
				sent := 0
				p.world.OnFrame(func(e simnet.FrameEvent) {
					if e.Step == simnet.Sent {
						sent++
					}
				})
				p.a.send(roce.SendWR{ID: 1, Op: op, SGE: p.a.mr.SGE(0, bufferSize), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
				for more := true; more && sent < frames; {
					var err error
					more, err = p.world.Step()
					require.NoError(t, err)
				}
				require.NoError(t, c.close(p), "%s, %s", op, name)
				mine, theirs := bytes.Clone(p.a.mr.Bytes()), bytes.Clone(p.b.mr.Bytes())
				wc := p.wait(p.a, 1)[0]
				require.Contains(t, append(c.want, roce.StatusSuccess), wc.Status, "%s, %s, after %d frames", op, name, frames)
				seen[wc.Status]++
				p.settle()
				if name == "its own region" || op == roce.OpWrite {
					require.Equal(t, mine, p.a.mr.Bytes())
				}
				if name == "the peer's region" || op == roce.OpRead {
					require.Equal(t, theirs, p.b.mr.Bytes())
				}
			}
			require.NotZero(t, seen[c.want[0]], "%s, %s: %v", op, name, seen)
		}
	}
}
