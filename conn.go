package roce

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rocinante-rdma/roce/mr"
)

// Conn is one connected queue pair with completion queues of its own, in the style
// of Go: calls block until their work is done or their context is. All methods are
// safe for concurrent use; the work of concurrent calls overlaps.
//
// A context that ends while work is under way aborts the connection: the queue
// pair goes to ERR, all calls return, and none returns before the device has let
// go of its buffer. (RDMA has no way to take back a single request.)
//
// When work fails, so does the connection: all later calls fail too.
type Conn struct {
	qp      *QP
	send    *track
	recv    *track
	results *MR // 8 bytes per send slot: what atomics return
}

// ConnConfig says what a [Conn] is made of.
type ConnConfig struct {
	SendDepth int    // calls under way at once, 0: 64
	RecvDepth int    // Recv calls under way at once, 0: 64
	Access    Access // what the peer may do at all, 0: what the regions permit
	GIDIndex  int    // the address to use, an index as of [Device.GID]
	DCQCN     *DCQCN // congestion control by ECN, nil: off
}

// CreateConn makes a connection in RESET. Connect it by its [Conn.QP]:
// [QP.Info] and [QP.Connect].
func (p *PD) CreateConn(cfg ConnConfig) (*Conn, error) {
	if p.dev.manual {
		return nil, fmt.Errorf("roce: create a Conn, whose calls block: %w", ErrManual)
	}
	c := &Conn{}
	err := c.create(p, QPConfig{
		SendDepth: cfg.SendDepth, RecvDepth: cfg.RecvDepth, Access: cfg.Access, GIDIndex: cfg.GIDIndex,
		MaxSGE: 1, DCQCN: cfg.DCQCN,
	}.withDefaults())
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conn) create(p *PD, cfg QPConfig) (err error) {
	if cfg.SendCQ, err = p.dev.CreateCQ(cfg.SendDepth); err != nil {
		return err
	}
	c.send = newTrack(cfg.SendCQ, cfg.SendDepth)
	if cfg.RecvCQ, err = p.dev.CreateCQ(cfg.RecvDepth); err != nil {
		return err
	}
	c.recv = newTrack(cfg.RecvCQ, cfg.RecvDepth)
	words := make([]byte, mr.AtomicSize*cfg.SendDepth)
	if c.results, err = p.RegMR(words, AccessLocalWrite); err != nil {
		return err
	}
	c.qp, err = p.CreateQP(cfg)
	return err
}

// QP leads to the verbs: to connect, to look at attributes and errors. Posting to
// it directly, or polling its CQs, confuses the Conn.
func (c *Conn) QP() *QP { return c.qp }

// Send sends src as one message. It returns nil once the peer has it. A peer that
// never receives is waited for without end, unless ctx or [WithRetry] sets one.
func (c *Conn) Send(ctx context.Context, src SGE) error {
	return c.do(ctx, &SendWR{Op: OpSend, SGE: src})
}

// SendImm is Send with immediate data.
func (c *Conn) SendImm(ctx context.Context, src SGE, imm uint32) error {
	return c.do(ctx, &SendWR{Op: OpSendImm, SGE: src, Imm: imm})
}

// SendInv is Send that invalidates a window of the peer's: the one that has key, which
// the peer bound to this connection. Its [Received] tells of it. What is under way by
// that key should have returned before.
func (c *Conn) SendInv(ctx context.Context, src SGE, key RKey) error {
	return c.do(ctx, &SendWR{Op: OpSendInv, SGE: src, RKey: key})
}

// Bind binds a window to n bytes of a region from offset off on, as [MW.Bind] does,
// and returns what to send to the peer.
func (c *Conn) Bind(ctx context.Context, w *MW, m *MR, off, n int, access Access) (Remote, error) {
	wr := w.Bind(m, off, n, access)
	if err := c.do(ctx, &wr); err != nil {
		return Remote{}, err
	}
	return w.Remote(), nil
}

// Invalidate takes the window that has this key away from the peer, once all calls
// made earlier are done.
func (c *Conn) Invalidate(ctx context.Context, key RKey) error {
	return c.do(ctx, &SendWR{Op: OpLocalInv, RKey: key})
}

// Write writes src to the peer's memory. It returns nil once it is there. src must
// not be longer than dst.
func (c *Conn) Write(ctx context.Context, src SGE, dst Remote) error {
	return c.rdma(ctx, &SendWR{Op: OpWrite, SGE: src}, dst)
}

// WriteImm is Write that tells the peer: it consumes one of its receives, with
// immediate data.
func (c *Conn) WriteImm(ctx context.Context, src SGE, dst Remote, imm uint32) error {
	return c.rdma(ctx, &SendWR{Op: OpWriteImm, SGE: src, Imm: imm}, dst)
}

// Read reads the peer's memory to dst, which must not be longer than src.
func (c *Conn) Read(ctx context.Context, dst SGE, src Remote) error {
	return c.rdma(ctx, &SendWR{Op: OpRead, SGE: dst}, src)
}

// FetchAdd adds delta to 8 bytes of the peer's memory, in the peer's byte order,
// and returns what they held before.
func (c *Conn) FetchAdd(ctx context.Context, at Remote, delta uint64) (old uint64, err error) {
	return c.atomic(ctx, &SendWR{Op: OpFetchAdd, Add: delta}, at)
}

// CompareSwap sets 8 bytes of the peer's memory to new if they equal old, and
// returns what they held before: old if they were set.
func (c *Conn) CompareSwap(ctx context.Context, at Remote, old, new uint64) (prev uint64, err error) {
	return c.atomic(ctx, &SendWR{Op: OpCompareSwap, Compare: old, Swap: new}, at)
}

// Received describes a message that arrived.
type Received struct {
	Len         int    // bytes: of the message, or written by the peer's WriteImm
	Imm         uint32 // if HasImm
	HasImm      bool
	WriteImm    bool // the message was a WriteImm: the data is where the peer wrote it
	Invalidated RKey // the key of our window that the peer's SendInv invalidated, else 0
}

// Recv waits for the next message and places it in dst. A message longer than dst
// fails the connection. A peer that sends before Recv is called is asked to wait;
// to keep messages flowing, have several calls under way, or use the verbs.
func (c *Conn) Recv(ctx context.Context, dst SGE) (Received, error) {
	wc, err := c.recv.run(ctx, c.qp, "receive", func(slot int) error {
		_, err := c.qp.PostRecv(RecvWR{ID: uint64(slot), SGE: dst})
		return err
	}, nil)
	if err != nil {
		return Received{}, err
	}
	return Received{
		Len: int(wc.ByteLen), Imm: wc.Imm, HasImm: wc.Flags&WCFlagImm != 0, WriteImm: wc.Opcode == WCRecvWriteImm,
		Invalidated: RKey(wc.InvalidatedKey),
	}, nil
}

// do carries a work request out.
func (c *Conn) do(ctx context.Context, wr *SendWR) error {
	_, err := c.send.run(ctx, c.qp, wr.Op.String(), func(slot int) error { return c.post(wr, slot) }, nil)
	return err
}

// rdma carries a work request on the peer's memory out. One that does not fit is
// refused here: the peer would refuse it too, and that ends the connection.
func (c *Conn) rdma(ctx context.Context, wr *SendWR, at Remote) error {
	if err := at.aim(wr, wr.SGE.Len); err != nil {
		return err
	}
	return c.do(ctx, wr)
}

// aim points a work request at the window, for n bytes.
func (r Remote) aim(wr *SendWR, n uint32) error {
	if n > r.Len {
		return fmt.Errorf("roce: %s of %d bytes does not fit the peer's window of %d at %#x: shorten it, or ask the peer for a larger one",
			wr.Op, n, r.Len, r.Addr)
	}
	wr.RemoteAddr, wr.RKey = r.Addr, r.Key
	return nil
}

func (c *Conn) post(wr *SendWR, slot int) error {
	wr.ID, wr.Flags = uint64(slot), Signaled
	_, err := c.qp.PostSend(*wr)
	return err
}

// atomic carries an atomic out, with the slot's word as the place for its result.
func (c *Conn) atomic(ctx context.Context, wr *SendWR, at Remote) (result uint64, err error) {
	if err := at.aim(wr, mr.AtomicSize); err != nil {
		return 0, err
	}
	_, err = c.send.run(ctx, c.qp, wr.Op.String(), func(slot int) error {
		wr.SGE = c.results.SGE(slot*mr.AtomicSize, mr.AtomicSize)
		return c.post(wr, slot)
	}, func(slot int) {
		result = mr.LoadUint64(c.results.Bytes()[slot*mr.AtomicSize:])
	})
	return result, err
}

// Close ends the connection: calls under way return with an error that matches
// net.ErrClosed. The peer is not told; its work fails when its retries are used
// up. Closing again does nothing.
func (c *Conn) Close() error {
	var err error
	if c.qp != nil {
		c.qp.closed.Store(true) // so that calls under way know what ended them
		c.qp.fail()
		err = c.qp.Close()
	}
	for _, t := range []*track{c.send, c.recv} {
		if t != nil {
			err = errors.Join(err, t.cq.Close())
		}
	}
	if c.results != nil {
		err = errors.Join(err, c.results.Close())
	}
	return err
}

// explain adds to the error of a call why the connection failed, and what to do.
func (q *QP) explain(what string, err error) error {
	if q.closed.Load() || q.pd.dev.isClosed() {
		return fmt.Errorf("roce: %s on %s: %w", what, q, net.ErrClosed)
	}
	return fmt.Errorf("roce: %s: %w", what, q.because(err))
}
