package outbox

// MaxSegments is how many packets a super-frame has at most: what the kernel takes of
// a UDP socket in one (UDP_MAX_SEGMENTS), since Linux 6.10. See [Box.SetSegments].
const MaxSegments = 128

// OldSegments is MaxSegments before Linux 6.10.
const OldSegments = 64

// burst is the super-frame that the newest packet belongs to. Its packets are of one
// size, but for the last, which may be shorter.
type burst struct {
	limit    int // bytes
	segments int // packets at most

	bytes int
	size  int // of all packets but the last
	n     int
	open  bool // more may follow
}

// add adds a packet to the burst, or begins one with it, and returns its place. alike
// says that the packet goes where the one before it does.
func (b *burst) add(size int, alike bool) (index int) {
	if alike && b.open && size <= b.size && b.bytes+size <= b.limit && b.n < b.segments {
		b.open = size == b.size
	} else {
		*b = burst{limit: b.limit, segments: b.segments, size: size, open: true}
	}
	b.bytes += size
	b.n++
	return b.n - 1
}

func (b *burst) close() { b.open = false }

// SetBurst changes the bytes of a burst at most, for packets reserved from now on; 0
// keeps them single.
func (b *Box[To]) SetBurst(bytes int) {
	b.burst.close()
	b.burst.limit = bytes
}

// SetSegments changes the packets of a burst at most, for packets reserved from now
// on.
func (b *Box[To]) SetSegments(n int) {
	b.burst.close()
	b.burst.segments = n
}

// EndBurst has the next packet begin a burst.
func (b *Box[To]) EndBurst() { b.burst.close() }

// Dissolve makes single packets of a burst that the network refused as such: n
// packets from index first on. All but the first change their place, and so their
// IPv4 identification, to 0: seal has to compute their ICRC again.
func (b *Box[To]) Dissolve(first, n int, seal func(to To, head []byte, body [][]byte, tail []byte)) {
	b.burst.close()
	for i := first + 1; i < first+n; i++ {
		pk := &b.packets[i]
		pk.Index = 0
		extent := b.arena[pk.off : pk.off+pk.Size]
		payload := extent[pk.head : pk.Size-pk.tail]
		if pk.gathered != nil {
			payload = pk.gathered
		}
		seal(pk.To, extent[:pk.head], [][]byte{payload}, extent[pk.Size-pk.tail:])
	}
}

// Burst returns how many packets from index first on may travel as one super-frame,
// and their bytes.
func (b *Box[To]) Burst(first int) (n, bytes int) {
	for i := first; i < b.n; i++ {
		pk := &b.packets[i]
		if i > first && pk.Index != b.packets[i-1].Index+1 {
			break
		}
		n, bytes = n+1, bytes+pk.Size
	}
	return n, bytes
}
