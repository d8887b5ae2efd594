package fault_test

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
)

// A script makes rules; its mistakes are told by their place.
func ExampleParse() {
	rules, err := fault.Parse(`
		# lose the second acknowledgement
		drop ack nth 2
		delay write-middle by 5ms p 0.5 seed 7`)
	fmt.Println(rules, err)
	_, err = fault.Parse("delay write-middle to 5ms")
	fmt.Println(err)
	// Output:
	// [drop ack nth 2 delay write-middle by 5ms p 0.5 seed 7] <nil>
	// line 1, column 26: delay needs "by", which takes a time such as 5ms
}

// What carries frames asks a set about each, and does what it says.
func ExampleSet() {
	var faults fault.Set
	second := fault.Drop(fault.Match{Op: new(bth.RCSendOnly), Nth: 2})
	faults.Add(second)
	for psn := range bth.PSN(3) {
		fate := faults.Judge(fault.Frame{From: "a", To: "b", Payload: packet(bth.RCSendOnly, psn)})
		fmt.Println(psn, fate.Drop)
	}
	fmt.Println(second, "struck", faults.Hits(second))
	// Output:
	// 0 false
	// 1 true
	// 2 false
	// drop send-only nth 2 struck 1
}
