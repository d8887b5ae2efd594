// Package demo is the command roci demo: two devices in this process, A and B, do
// each operation of a reliable connection on real memory, and every byte of that
// memory is compared with what it has to hold.
//
// In the order of the files: a network is chosen (network.go), for links below IP a
// veth pair that is made for them (street_linux.go); two links are opened on it, and each
// end gets a device and a connected queue pair (pair.go) and memory with guard bytes
// (memory.go), on which the operations work (operation.go, batch.go). They are played one
// by one with every packet recorded (story.go, chapters.go), then many times without
// recording, to measure them (measure.go). run.go joins it all; print.go and result.go
// tell what came of it.
package demo
