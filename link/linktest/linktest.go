package linktest

import (
	"testing"

	"github.com/rocinante-rdma/roce/link"
)

// Pair is two open links that reach each other through the first of their
// addresses.
type Pair struct {
	A, B link.Link

	// Window is the number of packets of maximal size that may be on their way at
	// once without loss; 0: any number.
	Window int

	// Pass lets virtual time pass until the next thing has happened, and returns
	// false if nothing is left to happen. nil: time is real, and the suite sleeps
	// with Arm and Park.
	Pass func() bool

	// Inject has B receive a UDP payload from A's address, whatever it holds. nil:
	// the suite sends no such thing.
	Inject func(payload []byte) error
}

// check is one test of the suite.
type check struct {
	name string
	run  func(*bench)
}

// moving are the checks of how packets move.
var moving = []check{
	{"Attributes", attributes},
	{"Resolve", resolve},
	{"Sizes", sizes},
	{"MustCopy", mustCopy},
	{"GatherOwnership", gatherOwnership},
	{"LentUntilRelease", lentUntilRelease},
	{"Batches", batches},
	{"Supers", supers},
	{"SuperClasses", superClasses},
	{"Identifications", identifications},
	{"MTUEdge", mtuEdge},
	{"SmallRecv", smallRecv},
	{"LendAll", lendAll},
	{"TrafficClass", trafficClass},
	{"FullQueue", fullQueue},
	{"Overrun", overrun},
	{"Hostile", hostile},
	{"Flood", flood},
	{"Allocations", allocations},
}

// sleeping are the checks of Arm, Park and Wake.
var sleeping = []check{
	{"WakeBeforePark", wakeBeforePark},
	{"WakeDuringPark", wakeDuringPark},
	{"Deadline", deadline},
	{"DeadlineMovesForward", deadlineMovesForward},
	{"FrameEndsPark", frameEndsPark},
	{"NoLostWake", noLostWake},
	{"NoLostFrame", noLostFrame},
	{"NoLostFrameInStream", noLostFrameInStream},
	{"CloseEndsPark", closeEndsPark},
	{"CloseRaces", closeRaces},
}

// Run runs the suite. open opens a fresh pair and sees to it that whatever lies
// behind is closed when the test ends; the suite closes the links themselves.
func Run(t *testing.T, open func(t *testing.T) Pair) {
	t.Helper()
	run(t, open, moving)
	run(t, open, sleeping)
}

// RunMoving is Run without the checks of Arm, Park and Wake: for pairs in virtual time,
// where a world polls its devices and nobody sleeps, and for further forms of a link
// that sleeps in each as in one for which Run was called.
func RunMoving(t *testing.T, open func(t *testing.T) Pair) {
	t.Helper()
	run(t, open, moving)
}

func run(t *testing.T, open func(t *testing.T) Pair, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(newBench(t, open)) })
	}
}
