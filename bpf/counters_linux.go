package bpf

// Counts is what became of packets to UDP port 4791 since the program was attached.
type Counts struct {
	Redirected uint64 // went to a socket
	NoSocket   uint64 // went to the host: their queue has no socket
	Foreign    uint64 // went to the host: not to one of the link's addresses
}

// Counts reads the program's counters; zeros after Close.
func (f *Filter) Counts() Counts {
	return Counts{
		Redirected: f.count(filterCounterREDIRECTED),
		NoSocket:   f.count(filterCounterNO_SOCKET),
		Foreign:    f.count(filterCounterFOREIGN),
	}
}

// count sums a counter over the processors.
func (f *Filter) count(c filterCounter) (sum uint64) {
	var perCPU []uint64
	if f.collection.Maps[filterMapCounters].Lookup(uint32(c), &perCPU) != nil {
		return 0
	}
	for _, n := range perCPU {
		sum += n
	}
	return sum
}
