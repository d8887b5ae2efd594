// Package outbox holds the packets that an engine reserved on a link and the network
// has not taken yet. It decides what is copied and what is gathered, and which packets
// may travel as one super-frame.
package outbox
