package rc

// Stats counts what a queue pair did.
type Stats struct {
	PacketsSent   uint64
	BytesSent     uint64 // payload
	Retransmitted uint64 // request packets sent again
	Timeouts      uint64 // local ACK timeouts
	RNRWaits      uint64 // RNR NAKs obeyed
	RNRNAKs       uint64 // RNR NAKs owed to the peer
	Gaps          uint64 // out-of-sequence requests reported
	Duplicates    uint64 // duplicate requests
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
