package pingpong

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rocinante-rdma/roce"
)

// Work request IDs, which are also the bits of what is pending.
const (
	recvID = 1 << iota
	sendID
)

// turnsPerCheck is how often an end that polls looks whether it shall give up.
const turnsPerCheck = 1 << 12

// volley is the state of the messages going to and fro.
type volley struct {
	*end
	ctx          context.Context
	sends, recvs int           // completed
	pending      uint64        // completions to come before the next send
	checked      int           // messages whose data was looked at
	completed    atomic.Uint64 // sends and receives, for the watch
}

// play sends and receives as often as asked for. The client begins; from then on
// each end sends whenever its last send has completed and a message has come.
func (v *volley) play() error {
	v.pending = recvID
	if v.role == client {
		if err := v.sendNext(); err != nil {
			return err
		}
	}
	var wcs [2]roce.WC
	for v.sends < v.o.Iters || v.recvs < v.o.Iters {
		n, err := v.completions(wcs[:])
		if err != nil {
			return v.explain(err)
		}
		for i := range wcs[:n] {
			if err := v.complete(&wcs[i]); err != nil {
				return v.explain(err)
			}
		}
	}
	if v.role == server && v.o.Check {
		v.checked++
		return checkPages(v.recv.Bytes()[:v.o.Size])
	}
	return nil
}

// complete draws the consequences of one completion.
func (v *volley) complete(wc *roce.WC) error {
	if err := wc.Err(); err != nil {
		return err
	}
	v.completed.Add(1)
	switch wc.ID {
	case sendID:
		v.sends++
	case recvID:
		v.recvs++
		if err := v.received(wc); err != nil {
			return err
		}
	}
	v.pending &^= wc.ID
	if v.pending == 0 && v.sends < v.o.Iters {
		return v.sendNext()
	}
	return nil
}

// received looks at a message, and posts receives anew when all but one are used.
func (v *volley) received(wc *roce.WC) error {
	if int(wc.ByteLen) != v.o.Size {
		return fmt.Errorf("message %d has %d bytes where %d were agreed: give both ends the same -s", v.recvs, wc.ByteLen, v.o.Size)
	}
	if v.role == client && v.o.Check {
		v.checked++
		if err := checkEcho(v.send.Bytes()[:v.o.Size], v.recv.Bytes(), v.recvs); err != nil {
			return err
		}
	}
	v.posted--
	if v.posted > 1 {
		return nil
	}
	return v.refill()
}

// sendNext sends the next message.
func (v *volley) sendNext() error {
	if v.role == client && v.o.Check {
		fillRound(v.send.Bytes()[:v.o.Size], v.sends, v.sends == v.o.Iters-1)
	}
	wr := roce.SendWR{ID: sendID, Op: roce.OpSend, Flags: roce.Signaled, SGE: v.send.SGE(0, v.o.Size)}
	if _, err := v.qp.PostSend(wr); err != nil {
		return fmt.Errorf("post send %d: %w", v.sends+1, err)
	}
	v.pending = recvID | sendID
	return nil
}

// completions waits for completions, asleep or awake.
func (v *volley) completions(wcs []roce.WC) (int, error) {
	if v.o.Events {
		return v.cq.Wait(v.ctx, wcs)
	}
	for {
		for range turnsPerCheck {
			if n := v.cq.Poll(wcs); n > 0 {
				return n, nil
			}
		}
		if err := v.ctx.Err(); err != nil {
			return 0, err
		}
	}
}

// explain says which connection failed, how far it had come, and why as far as the
// queue pair knows more than the completion.
func (v *volley) explain(err error) error {
	if ended := v.ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = context.Cause(v.ctx)
	}
	where := fmt.Sprintf("%v to QP 0x%06x at %v, after %d of %d sends and %d of %d receives",
		v.qp, v.remote.QPN, v.remote.GID.Addr(), v.sends, v.o.Iters, v.recvs, v.o.Iters)
	if why := v.qp.Err(); why != nil {
		return fmt.Errorf("%s: %w: %w", where, err, why)
	}
	return fmt.Errorf("%s: %w", where, err)
}
