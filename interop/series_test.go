//go:build linux

package interop

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// series is work with several operations under way, each with its own place in both
// ends' memory, and the memory that they shall leave.
type series struct {
	works []work
	inbox struct{ req, resp []byte }
	word  uint64 // the responder's, which atomics change
}

// Seeds of both ends' sources.
const (
	requesterSeed = 1
	responderSeed = 2
)

// newSeries fills both ends' memory and posts the receives.
func newSeries(t *testing.T, ops []roce.Op, n int, req, resp end) *series {
	t.Helper()
	s := &series{word: nativeWord(guest.Pattern(background, 8))}
	s.inbox.req, s.inbox.resp = guest.Pattern(background, inboxSize), guest.Pattern(background, inboxSize)
	req.fill(t, sourceOff, n*len(ops), requesterSeed)
	resp.fill(t, sourceOff, n*len(ops), responderSeed)
	req.fill(t, inboxOff, inboxSize, background)
	resp.fill(t, inboxOff, inboxSize, background)
	resp.fill(t, wordOff, 8, background)
	for i, op := range ops {
		s.add(op, i*n, n, resp)
	}
	s.postRecvs(t, resp, n*len(ops))
	return s
}

// add adds an operation on n bytes at a place of both ends' areas.
func (s *series) add(op roce.Op, at, n int, resp end) {
	id := uint64(len(s.works))
	wr := work{id: id, op: op, off: sourceOff + at, n: n, imm: uint32(id), at: resp.remote(arrivalOff + at)}
	arrival := guard + at
	switch {
	case isAtomic(op):
		wr.off, wr.n, wr.at = arrivalOff+at, 8, resp.remote(wordOff)
		wr.add, wr.compare, wr.swap = 3<<id, s.word, 100+id
		copy(s.inbox.req[arrival:], nativeBytes(s.word))
		s.word = after(wr)
	case op == roce.OpRead:
		wr.off, wr.at = arrivalOff+at, resp.remote(sourceOff+at)
		copy(s.inbox.req[arrival:], guest.Pattern(responderSeed, at+n)[at:])
	default:
		copy(s.inbox.resp[arrival:], guest.Pattern(requesterSeed, at+n)[at:])
	}
	s.works = append(s.works, wr)
}

// after is the word after an atomic whose comparison succeeds.
func after(w work) uint64 {
	if w.op == roce.OpFetchAdd {
		return w.compare + w.add
	}
	return w.swap
}

// postRecvs posts the receives, and one more behind the others: a message that is
// delivered twice shows in the memory that it names.
func (s *series) postRecvs(t *testing.T, resp end, behind int) {
	t.Helper()
	for _, wr := range s.works {
		if consumesRecv(wr.op) {
			resp.postRecv(t, wr.id, wr.off-sourceOff+arrivalOff, wr.n)
		}
	}
	if free := maxMessage - behind; free > 0 {
		resp.postRecv(t, uint64(len(s.works)), arrivalOff+behind, free)
	}
}

func (s *series) requireReceived(t *testing.T, resp end) {
	t.Helper()
	var sent []work
	for _, wr := range s.works {
		if consumesRecv(wr.op) {
			sent = append(sent, wr)
		}
	}
	for i, c := range resp.completions(t, len(sent)) {
		requireReceived(t, c, sent[i])
	}
}

func (s *series) requireMemory(t *testing.T, req, resp end) {
	t.Helper()
	require.Equal(t, sha256.Sum256(s.inbox.req), req.sum(t, inboxOff, inboxSize), "the requester's memory")
	require.Equal(t, sha256.Sum256(s.inbox.resp), resp.sum(t, inboxOff, inboxSize), "the responder's memory")
	require.Equal(t, sha256.Sum256(nativeBytes(s.word)), resp.sum(t, wordOff, 8), "the word for atomics")
}
