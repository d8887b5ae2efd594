//go:build linux

package interop

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// windowOff is where a window begins that is as long as any of remoteOps, in the middle of
// its region and where atomics may be.
const windowOff = 80 << 10

// windowRefusals are uses of a window that must be refused in one direction.
func windowRefusals(w way) (all []refusal) {
	for _, o := range remoteOps {
		add := func(name string, aim func(t *testing.T, resp end) target) {
			all = append(all, refusal{
				name: fmt.Sprintf("%s of %d bytes %s", o.op, o.n, name), op: o.op, n: o.n,
				nak: bth.NAKRemoteAccess, status: roce.StatusRemoteAccess, aim: aim,
			})
		}
		add("without the window's right", func(t *testing.T, resp end) target {
			return bound(t, resp, resp.window(t), wordOff, 4096, remoteRights&^o.right)
		})
		add("through a window bound anew", func(t *testing.T, resp end) target {
			window := resp.window(t)
			old := bound(t, resp, window, wordOff, 4096, remoteRights)
			invalidate(t, resp, old)
			bound(t, resp, window, wordOff, 4096, remoteRights)
			return old
		})
		add("beyond a window at the region's end", func(t *testing.T, resp end) target {
			at := bound(t, resp, resp.window(t), memorySize-8, 8, remoteRights)
			return target{at.addr + 8, at.key}
		})
		if w.requests == guest.FromGuest { // for the kernel see beyondWindow
			add("beyond the window", func(t *testing.T, resp end) target {
				at := bound(t, resp, resp.window(t), windowOff, o.n, remoteRights)
				return target{at.addr + 8, at.key}
			})
			add("before the window", func(t *testing.T, resp end) target {
				at := bound(t, resp, resp.window(t), windowOff, o.n, remoteRights)
				return target{at.addr - 8, at.key}
			})
		}
	}
	return all
}

// invalidate has the owner of a window invalidate it.
func invalidate(t *testing.T, owner end, at target) {
	t.Helper()
	owner.post(t, work{id: bindID, op: roce.OpLocalInv, at: at})
	require.Equal(t, completion{id: bindID, opcode: roce.WCLocalInv}, owner.completions(t, 1)[0], "completion of the local invalidate")
}

// foreignWindow is a WRITE over one connection through a window that was bound for
// another one.
type foreignWindow struct{}

func (foreignWindow) String() string { return "WRITE through another connection's window" }

func (foreignWindow) run(t *testing.T, b *bench, w way) {
	_, owner := w.ends(b.connect(t, patient))
	at := bound(t, owner, owner.window(t), wordOff, 4096, remoteRights)
	refusal{op: roce.OpWrite, n: 100, nak: bth.NAKRemoteAccess, status: roce.StatusRemoteAccess, aim: func(*testing.T, end) target {
		return at
	}}.run(t, b, w)
}

// beyondWindow is a request that leaves the kernel's window, but not the region behind
// it. The kernel looks at the region alone and carries it out, where it should refuse it.
type beyondWindow struct{ op roce.Op }

func (c beyondWindow) String() string { return fmt.Sprintf("%s beyond the kernel's window", c.op) }

func (c beyondWindow) run(t *testing.T, b *bench, w way) {
	const n = 100
	req, resp := w.ends(b.connect(t, patient))
	at := bound(t, resp, resp.window(t), wordOff, 8, remoteRights)
	from, to := req, resp
	wr := work{id: 1, op: c.op, off: sourceOff, n: n, at: at}
	local, remote := sourceOff, wordOff
	if c.op == roce.OpRead {
		from, to = to, from
		wr.off, local, remote = arrivalOff, wordOff, arrivalOff
	}
	from.fill(t, local, n, 1)
	to.fill(t, remote, n, background)
	req.post(t, wr)
	requireRequesterDone(t, req.completions(t, 1)[0], wr)
	require.Equal(t, sha256.Sum256(guest.Pattern(1, n)), to.sum(t, remote, n))
}
