package congestion

// background tells the losses of a window that is too large from those that happen
// whatever its size. From when the window has halved until it has grown to three quarters
// of what it was, which is called a pass, no buffer overflows because of it: what is lost
// then is the network's own, unless it is more than one packet in eight, which says that
// there is less room than there was. Between passes, up to twice the network's share is
// excused.
type background struct {
	peak  int     // the window when it last halved
	calm  bool    // a pass is under way
	pass  share   // in that pass so far
	all   share   // in the passes that were completed
	spare float64 // packets whose loss is still excused
}

const (
	// calmLosses is the share of packets that may be lost in a pass.
	calmLosses = 1.0 / 8
	// excess is how much more than the network's share is excused: chance is no fault.
	excess = 2
	// mostSpare bounds what is saved up for runs of bad luck, in packets.
	mostSpare = 8
	// memory is after how many packets those of earlier passes count only half.
	memory = 1 << 14
)

// share is losses and packets.
type share struct{ lost, packets float64 }

func (s share) of() float64 {
	if s.packets == 0 {
		return 0
	}
	return s.lost / s.packets
}

// arrived tells of packets that were acknowledged.
func (b *background) arrived(packets int) {
	rate := excess * b.all.of()
	if b.calm {
		b.pass.packets += float64(packets)
		rate = calmLosses
	}
	b.spare = min(b.spare+float64(rate*float64(packets)), mostSpare)
}

// excuses counts packets that were lost, and reports whether that is not the window's
// fault.
func (b *background) excuses(packets int) bool {
	if b.calm {
		b.pass.lost += float64(packets)
	}
	b.spare -= float64(packets)
	return b.spare >= 0
}

// overflown tells that the window halves, and what it was.
func (b *background) overflown(limit int) {
	b.peak, b.calm, b.pass, b.spare = limit, true, share{}, mostSpare
}

// grown tells of a larger window: it may complete a pass.
func (b *background) grown(limit int) {
	if !b.calm || 4*limit < 3*b.peak {
		return
	}
	b.calm = false
	b.all.lost += b.pass.lost
	b.all.packets += b.pass.packets
	for b.all.packets > memory {
		b.all.lost, b.all.packets = b.all.lost/2, b.all.packets/2
	}
	if b.all.lost == 0 {
		b.spare = 0
	}
}
