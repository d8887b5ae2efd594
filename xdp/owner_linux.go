package xdp

// owner is who has a chunk. Receiving moves it from fill to rx, the engine and back
// to fill; sending from free to the engine, tx, completion and back to free.
type owner uint8

const (
	free         owner = iota // nobody
	inFill                    // the kernel, for a packet to come
	inRx                      // we, and a packet is in it
	atEngine                  // the engine reads or writes it
	inTx                      // the kernel, to send it
	inCompletion              // we, and the kernel is through with it
)

func (o owner) String() string {
	return [...]string{"free", "fill", "rx", "engine", "tx", "completion"}[o]
}
