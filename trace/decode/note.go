package decode

// Note is a word about a packet that the packet itself does not say.
type Note struct {
	Kind NoteKind
	Text string
}

// NoteKind is what a note is about.
type NoteKind uint8

// Kinds of notes. The ones up to NoteBadICRC speak of trouble.
const (
	NoteRetransmission NoteKind = iota // sent again
	NoteDuplicate                      // copied by the network
	NoteReordered                      // overtaken by a later packet
	NoteGap                            // packets before it are not in the capture
	NoteNAK                            // refused, or asked for again
	NoteRNR                            // the receiver was not ready
	NoteMSN                            // the message count went back
	NoteBroken                         // no whole packet
	NoteOddCNP                         // a congestion notification of another shape
	NoteCNPTooSoon                     // congestion notifications faster than any NIC sends them
	NoteBadICRC                        // damaged
	NoteICRCUnknown                    // the ICRC could not be computed
	NoteMarked                         // marked CE by a switch
	NoteCNP                            // congestion notification
	NoteCoalesced                      // one ACK for several messages
	NoteRestart                        // the PSNs begin somewhere else
)

var noteNames = [...]string{
	"retransmission", "duplicate", "reordered", "gap", "NAK", "RNR NAK", "MSN", "broken",
	"odd CNP", "hasty CNP", "bad ICRC", "unknown ICRC", "CE-marked", "CNP", "coalesced ACK", "restart",
}

// String names the kind.
func (k NoteKind) String() string { return noteNames[k] }

// Trouble reports whether the kind speaks of something that went wrong.
func (k NoteKind) Trouble() bool { return k <= NoteBadICRC }

// Trouble reports whether any note of the packet speaks of something that went
// wrong.
func (p *Packet) Trouble() bool {
	for _, n := range p.Notes {
		if n.Kind.Trouble() {
			return true
		}
	}
	return false
}

func (p *Packet) note(k NoteKind, text string) { p.Notes = append(p.Notes, Note{k, text}) }
