package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/wire"
)

// Classes strike what they say and nothing else.
func TestClasses(t *testing.T) {
	reserved := packet(bth.RCSendOnly, 0)
	reserved[0] = 0xff
	packets := [][]byte{
		0: packet(bth.RCSendFirst, 0), 1: packet(bth.RCWriteOnly, 1), 2: packet(bth.RCReadRequest, 2),
		3: packet(bth.RCReadRespMiddle, 3), 4: packet(bth.RCFetchAdd, 4), 5: packet(bth.RCAtomicAck, 5),
		6: answer(bth.ACKUnlimited), 7: answer(bth.NAKSequence), 8: answer(bth.RNRNAK(3)), 9: packet(bth.CNP, 0),
		10: reserved, 11: make([]byte, 7), 12: nil,
	}
	for what, want := range map[string]string{
		"any":                       "0 1 2 3 4 5 6 7 8 9 10 11 12",
		"request":                   "0 1 2 4",
		"response":                  "3 5 6 7 8",
		"data":                      "0 1",
		"send":                      "0",
		"write":                     "1",
		"read-request":              "2",
		"read-response":             "3",
		"atomic-request":            "4",
		"atomic-response":           "5",
		"ack":                       "6",
		"nak":                       "7",
		"rnr-nak":                   "8",
		"cnp":                       "9",
		"acknowledge":               "6 7 8",
		"send-first":                "0",
		"fetchadd":                  "4",
		"any psn 3":                 "3",
		"any qpn 0x22":              "0 1 2 3 4 5 6 7 8 9 10",
		"any qpn 0x23":              "",
		"any from a to b":           "0 1 2 3 4 5 6 7 8 9 10 11 12",
		"any from b":                "",
		"any to a":                  "",
		"any between b a":           "0 1 2 3 4 5 6 7 8 9 10 11 12",
		"any between a c":           "",
		"any nth 3":                 "2",
		"any count 3":               "0 1 2",
		"any nth 3 count 2":         "2 3",
		"any every 5":               "0 5 10",
		"any nth 2 every 5":         "1 6 11",
		"any nth 2 every 5 count 2": "1 6",
		"response every 2":          "3 6 8",
		"any p 1":                   "0 1 2 3 4 5 6 7 8 9 10 11 12",
	} {
		s, _, err := set("drop " + what)
		require.NoError(t, err)
		require.Equal(t, want, judged(s, packets...), what)
	}
}

// Transmissions of a packet are told apart by ends, queue pair, opcode and PSN.
func TestTransmissions(t *testing.T) {
	s, _, err := set("drop any transmission 2")
	require.NoError(t, err)
	first, other := packet(bth.RCSendOnly, 1), packet(bth.RCWriteOnly, 1)
	require.Equal(t, "2 4", judged(s, first, other, first, first, other, make([]byte, 3)))
	require.Equal(t, fault.Fate{}, s.Judge(fault.Frame{From: "c", To: "b", Payload: first}))
	require.Equal(t, fault.Fate{Drop: true}, s.Judge(fault.Frame{From: "c", To: "b", Payload: first}))
}

// A probability strikes about so many; its own seed repeats it wherever the rule
// stands, and the seed of the set in the same place.
func TestChance(t *testing.T) {
	packets := make([][]byte, 10_000)
	run := func(seed uint64, script string) (hits []int) {
		rules, err := fault.Parse(script)
		require.NoError(t, err)
		s := new(fault.Set)
		s.SetSeed(seed)
		s.Add(rules...)
		judged(s, packets...)
		for _, r := range rules {
			hits = append(hits, s.Hits(r))
		}
		return hits
	}
	hits := run(1, "duplicate any p 0.1\nduplicate any p 0.1\nduplicate any p 0.1 seed 7\nduplicate any p 0.1 seed 7")
	for _, n := range hits {
		require.InDelta(t, 1000, n, 150)
	}
	require.NotEqual(t, hits[0], hits[1])
	require.Equal(t, hits[2], hits[3])
	require.Equal(t, hits[:1], run(1, "duplicate any p 0.1"))
	require.NotEqual(t, hits[:1], run(2, "duplicate any p 0.1"))
	require.Equal(t, hits[2:3], run(2, "duplicate any p 0.1 seed 7"))
	require.Equal(t, []int{5}, run(1, "duplicate any p 0.1 count 5"))
}

// What rules do adds up; the frame that one drops does not meet those behind.
func TestFates(t *testing.T) {
	b := packet(bth.RCSendOnly, 5)
	s, rules, err := set(`
		duplicate any
		duplicate any
		delay any by 5ms
		delay any by 1s
		reorder any by 3
		reorder any by 2
		mark-ce any
		corrupt any bit 0
		corrupt any bit -1
		corrupt any bit 100000
		drop any nth 2
		mark-ce any`)
	require.NoError(t, err)
	want := fault.Fate{Copies: 2, Delay: 1005e6, Overtakers: 3, Flipped: 2, Mark: true}
	require.Equal(t, want, s.Judge(fault.Frame{Payload: b, ECN: wire.ECT1}))
	require.Equal(t, bth.RCSendOnly^0x80, bth.Opcode(b[0]))
	require.EqualValues(t, 1, b[len(b)-1])
	want.Drop, want.Mark = true, false
	require.Equal(t, want, s.Judge(fault.Frame{Payload: b, ECN: wire.NotECT}))
	var hits []int
	for _, r := range rules {
		hits = append(hits, s.Hits(r))
	}
	require.Equal(t, []int{2, 2, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1}, hits)
	s.Remove(rules...)
	require.Equal(t, fault.Fate{}, s.Judge(fault.Frame{Payload: b}))
	require.Equal(t, 2, s.Hits(rules[0]))
}
