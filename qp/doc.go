// Package qp holds the pure data of queue pairs: work requests and the rings of
// work queue elements (WQEs) made of them, attributes, and the table of state
// transitions. It moves no packets; the transport machines consume the rings.
package qp
