//go:build linux

package interop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// windowCells are all that is tried with memory windows, and with addresses that were
// chosen, in one direction.
func windowCells(w way) (all []cell) {
	for _, zeroBased := range []bool{false, true} {
		for _, c := range opcodeCells(fewLengths) {
			if c.op != roce.OpSend && c.op != roce.OpSendImm {
				all = append(all, throughWindow{c, zeroBased})
			}
		}
	}
	for _, r := range windowRefusals(w) {
		all = append(all, r)
	}
	all = append(all, foreignWindow{})
	if w.requests == guest.ToGuest {
		all = append(all, beyondWindow{roce.OpWrite}, beyondWindow{roce.OpRead})
	}
	all = append(all, invalidations(w)...)
	return append(all, addressCells(w)...)
}

// remoteRights are all that a window can give.
const remoteRights = roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic

// bindID is the ID of the work that binds a window.
const bindID = 0xb1d

// bound binds a window and waits until it is.
func bound(t *testing.T, e end, w window, off, n int, access roce.Access) target {
	t.Helper()
	at := w.bind(t, bindID, off, n, access)
	require.Equal(t, completion{id: bindID, opcode: roce.WCBindMW}, e.completions(t, 1)[0], "completion of the bind")
	return at
}

// windowed is an end whose memory its peer knows by another name: through a window.
type windowed struct {
	end
	at target // of its memory's first byte
}

func (e windowed) remote(off int) target { return target{e.at.addr + uint64(off), e.at.key} }

// throughWindow is an operation on memory that the responder shows in a window.
type throughWindow struct {
	opcodeCell
	zeroBased bool
}

func (c throughWindow) String() string {
	if c.zeroBased {
		return fmt.Sprintf("%s through a zero-based window", c.opcodeCell)
	}
	return fmt.Sprintf("%s through a window", c.opcodeCell)
}

// run binds a window to just what the operation uses of the responder's memory.
func (c throughWindow) run(t *testing.T, b *bench, w way) {
	req, resp := w.ends(b.connect(t, patient))
	at := bound(t, resp, resp.window(t), c.place(), c.n, c.rights())
	c.opcodeCell.run(t, req, windowed{resp, target{at.addr - uint64(c.place()), at.key}}, 1)
}

// place is the offset of the responder's memory that the operation uses.
func (c throughWindow) place() int {
	switch {
	case isAtomic(c.op):
		return wordOff
	case c.op == roce.OpRead:
		return sourceOff
	}
	return arrivalOff
}

// rights are those of the window: that to atomics goes with words' addresses alone.
func (c throughWindow) rights() (access roce.Access) {
	access = remoteRights
	if !isAtomic(c.op) {
		access &^= roce.AccessRemoteAtomic
	}
	if c.zeroBased {
		access |= roce.AccessZeroBased
	}
	return access
}
