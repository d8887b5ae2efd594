package cq

import (
	"errors"
	"fmt"
)

// ErrFlushed is matched by errors of work that was not carried out because its
// queue pair had failed, or was taken to ERR, before.
var ErrFlushed = errors.New("work request flushed")

// WCError is a completion that reports a failure.
type WCError struct {
	Status    Status
	VendorErr uint32 // the transport.Rule that failed the work, 0 if none
	QPN       uint32 // the local queue pair
	WRID      uint64 // the ID of the work request
}

// Error says which work failed, with the wording of ibv_wc_status_str.
func (e *WCError) Error() string {
	return fmt.Sprintf("work request %d on QP 0x%06x: %s (status %d, vendor error %d)",
		e.WRID, e.QPN, e.Status, uint8(e.Status), e.VendorErr)
}

// Is makes errors.Is(err, ErrFlushed) work.
func (e *WCError) Is(target error) bool { return target == ErrFlushed && e.Status == StatusFlushed }

// RemoteError is a completion that failed because the peer refused the work with a
// NAK. It unwraps to its [WCError].
type RemoteError struct{ WCError }

// Error says that it was the peer who refused.
func (e *RemoteError) Error() string { return "refused by the peer: " + e.WCError.Error() }

// Unwrap returns the plain completion error.
func (e *RemoteError) Unwrap() error { return &e.WCError }

// Err returns nil if the work succeeded, a *[RemoteError] if the peer refused it,
// else a *[WCError].
func (w *WC) Err() error {
	if w.Status == StatusSuccess {
		return nil // before e, which is allocated, is made
	}
	e := WCError{w.Status, w.VendorErr, w.QPN, w.ID}
	switch w.Status {
	case StatusRemoteInvalid, StatusRemoteAccess, StatusRemoteOperation:
		return &RemoteError{e}
	default:
		return &e
	}
}
