// Package decode reads capture files (pcap, pcapng) and says what the RoCEv2
// packets in them are, whether their ICRC is right, which queue pairs talk to
// each other, and where a retransmission, a duplicate or a gap deserves a word.
//
// A capture passes through in a straight line, twice. [Reader] yields records and
// [Decode] turns a record into a [Packet]. The first time [Pairs] learns which queue
// pairs belong together; the second time [Annotator] names the senders and adds
// notes, [Filter] chooses, and [Print] writes a list, a ladder or JSON lines.
//
// Capture files are hostile input: nothing here panics, allocates by a number
// read from the file without a bound, or reads beyond it.
package decode
