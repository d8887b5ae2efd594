package rc

// Stats counts what a queue pair did.
type Stats struct {
	PacketsSent   uint64
	BytesSent     uint64 // payload
	Retransmitted uint64 // request packets sent again
	Timeouts      uint64 // local ACK timeouts, the one that used up the retries included
	RNRWaits      uint64 // RNR NAKs obeyed
	RNRNAKs       uint64 // RNR NAKs owed to the peer
	Gaps          uint64 // out-of-sequence requests reported
	Duplicates    uint64 // duplicate requests

	// Requests of the peer that were carried out, whole messages.
	Sends, Writes, Reads, Atomics uint64
	// AccessErrors are requests refused with NAK remote access error: each ends the
	// connection.
	AccessErrors uint64
}

// Add adds the counters of another queue pair.
func (s *Stats) Add(o Stats) {
	s.PacketsSent += o.PacketsSent
	s.BytesSent += o.BytesSent
	s.Retransmitted += o.Retransmitted
	s.Timeouts += o.Timeouts
	s.RNRWaits += o.RNRWaits
	s.RNRNAKs += o.RNRNAKs
	s.Gaps += o.Gaps
	s.Duplicates += o.Duplicates
	s.Sends += o.Sends
	s.Writes += o.Writes
	s.Reads += o.Reads
	s.Atomics += o.Atomics
	s.AccessErrors += o.AccessErrors
}

// Stats returns the counters since New.
func (m *Machine) Stats() Stats { return m.stats }

// count counts a packet committed to be sent.
func (s *Stats) count(o *Out) {
	s.PacketsSent++
	s.BytesSent += uint64(o.Len)
	if o.Why.Retransmission() {
		s.Retransmitted++
	}
}
