// Package theory says where flows under DCQCN should settle, by two models that know
// nothing of packets.
//
// fluid.go is the published one, of mean rates in differential equations (Zhu et al.,
// "ECN or Delay", CoNEXT 2016, on the DCQCN of SIGCOMM 2015), and integrate.go follows
// it through time. It takes CNPs to come in fixed windows: one at the end of each in
// which a packet was marked. A notification point that answers a mark at once if its
// last CNP is old enough sends fewer of them, and renewal.go is a fixed point for that.
//
// Both hold for equal flows that always have something to send, below the rates at
// which hyper increase begins.
package theory
