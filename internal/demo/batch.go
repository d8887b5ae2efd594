package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce"
)

// arena is the memories of both ends, on which operations are done.
type arena struct {
	*pair
	ma, mb *memory
	size   int // of a message
	round  uint64
	wrs    [depth]roce.SendWR

	checked int64 // bytes compared so far
}

func newArena(p *pair, size, slots int) (*arena, error) {
	ma, err := newMemory(p.a, size, slots)
	if err != nil {
		return nil, err
	}
	mb, err := newMemory(p.b, size, slots)
	if err != nil {
		return nil, err
	}
	return &arena{pair: p, ma: ma, mb: mb, size: size}, nil
}

// batch does an operation n times at once, in n slots, and compares all memory of
// both ends with what it has to hold. It returns the time from posting to the last
// completion at A: all data is where it belongs and A knows.
func (r *arena) batch(ctx context.Context, o *operation, n int) (took time.Duration, err error) {
	r.round++
	r.prepare(o, n)
	if o.recv {
		if err := r.postReceives(n); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	if _, err = r.a.qp.PostSend(r.wrs[:n]...); err != nil {
		return 0, err
	}
	if err = r.a.reap(ctx, n, func(*roce.WC) error { return nil }); err != nil {
		return 0, err
	}
	took = time.Since(start)
	if o.recv {
		if err = r.b.reap(ctx, n, func(wc *roce.WC) error { return r.checkReceived(o, wc) }); err != nil {
			return 0, err
		}
	}
	return took, r.check(o, n)
}

// prepare gives the slots new content, and describes the work.
func (r *arena) prepare(o *operation, n int) {
	for i := range n {
		r.ma.refill(i)
		r.mb.refill(i)
		if o.atomic {
			r.mb.setWord(i, 40+r.round)
		}
		there := r.mb.remote(i)
		r.wrs[i] = roce.SendWR{
			ID: uint64(i), Op: o.op, Flags: roce.Signaled, SGE: r.ma.sge(i, o.length(r.size)),
			RemoteAddr: there.Addr, RKey: there.Key, Imm: r.immediate(i),
		}
		if o.fill != nil {
			o.fill(r.mb, i, &r.wrs[i])
		}
	}
}

func (r *arena) immediate(slot int) uint32 { return uint32(r.round)<<8 | uint32(slot) }

func (r *arena) postReceives(n int) error {
	for i := range n {
		if _, err := r.b.qp.PostRecv(roce.RecvWR{ID: uint64(i), SGE: r.mb.sge(i, r.size)}); err != nil {
			return err
		}
	}
	return nil
}

// checkReceived checks what the completion of a receive says.
func (r *arena) checkReceived(o *operation, wc *roce.WC) error {
	if int(wc.ByteLen) != r.size {
		return fmt.Errorf("receive %d completed with %d bytes, %d were sent", wc.ID, wc.ByteLen, r.size)
	}
	if want := r.immediate(int(wc.ID)); o.imm && (wc.Flags&roce.WCFlagImm == 0 || wc.Imm != want) {
		return fmt.Errorf("receive %d completed with immediate data 0x%08x (%v), 0x%08x were sent", wc.ID, wc.Imm, wc.Flags, want)
	}
	return nil
}

// check compares both memories with what they have to hold now.
func (r *arena) check(o *operation, n int) error {
	for i := range n {
		o.expect(r.ma, r.mb, i)
	}
	r.checked += int64(len(r.ma.want) + len(r.mb.want))
	if err := r.ma.check(); err != nil {
		return err
	}
	return r.mb.check()
}
