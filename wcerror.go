package roce

import "fmt"

// Err returns nil if a completion of this queue is a success, else why its work
// failed: [WC.Err], which knows the work and its status, and [QP.Err] of its queue
// pair, which knows the peer, the packet, the rule and what to do. Work that was flushed
// so tells what the flush came from. The error matches what either of the two matches,
// such as *[RemoteError] and *[QPError].
//
// A queue pair that was closed, or brought to RESET, has forgotten the cause: ask
// before.
func (c *CQ) Err(wc *WC) error {
	err := wc.Err()
	if err == nil {
		return nil
	}
	if q := c.user(wc.QPN); q != nil {
		err = q.because(err)
	}
	return fmt.Errorf("roce: %w", err)
}

// user is the queue pair with this number, or nil if it does not feed the queue any
// more.
func (c *CQ) user(qpn uint32) *QP {
	c.dev.mu.Lock()
	defer c.dev.mu.Unlock()
	for q := range c.users {
		if q.QPN() == qpn {
			return q
		}
	}
	return nil
}

// because adds to the error of some work why its queue pair is in ERR, if it is.
func (q *QP) because(err error) error {
	if cause := q.Err(); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
