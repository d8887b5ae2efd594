package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
)

// lines of scripts, each with the same rule made in Go.
var lines = []struct {
	line string
	rule *fault.Rule
}{
	{"drop any", fault.Drop(fault.Match{})},
	{"drop ack nth 2", fault.Drop(fault.Match{Has: bth.Ack, Answer: fault.Positive, Nth: 2})},
	{"drop acknowledge nth 2", fault.Drop(fault.Match{Op: new(bth.RCAcknowledge), Nth: 2})},
	{"drop request psn 4660 transmission 1", fault.Drop(fault.Match{Has: bth.Request, PSN: new(bth.PSN(0x1234)), Transmission: 1})},
	{"corrupt read-response bit -1 every 100", fault.Corrupt(fault.Match{Has: bth.Read | bth.Response, Every: 100}, -1)},
	{"delay write-middle by 5ms", fault.Delay(fault.Match{Op: new(bth.RCWriteMiddle)}, 5*time.Millisecond)},
	{"duplicate any p 0.01 seed 7", fault.Duplicate(fault.Match{P: 0.01, Seed: 7})},
	{"reorder data by 2", fault.Reorder(fault.Match{Has: bth.Request | bth.Payload}, 2)},
	{"mark-ce any from a to b count 3", fault.MarkCE(fault.Match{From: "a", To: "b", Count: 3})},
	{"drop any between a b", fault.Partition("a", "b")},
	{"drop nak qpn 0x11 nth 2 every 3 count 4", fault.Drop(fault.Match{Has: bth.Ack, Answer: fault.Negative, QPN: 0x11, Nth: 2, Every: 3, Count: 4})},
	{"drop uc-send-first", fault.Drop(fault.Match{Op: new(bth.Opcode(bth.TransportUC) | bth.RCSendFirst)})},
	{
		"random response drop 0.01 duplicate 0.02 reorder 0.03 corrupt 0.04 mark-ce 0.05",
		fault.Randomly(fault.Match{Has: bth.Response}, fault.Random{Loss: 0.01, Dup: 0.02, Reorder: 0.03, Corrupt: 0.04, CE: 0.05}),
	},
}

// A line and the rule made in Go are the same, and a rule is written as it is read.
func TestLinesAreRules(t *testing.T) {
	for _, c := range lines {
		rules, err := fault.Parse(c.line)
		require.NoError(t, err)
		require.Equal(t, []*fault.Rule{c.rule}, rules, c.line)
		require.Equal(t, c.line, c.rule.String())
	}
}

// Order, space, comments and the form of numbers are the writer's.
func TestScripts(t *testing.T) {
	rules, err := fault.Parse("\n# nothing yet\n\tdrop   ack count 0x10 nth 2# the second\r\n\nreorder data to b by 0x2 from a")
	require.NoError(t, err)
	require.Len(t, rules, 2)
	require.Equal(t, "drop ack nth 2 count 16", rules[0].String())
	require.Equal(t, "reorder data by 2 from a to b", rules[1].String())
}

// Every opcode that is defined has a word, which means it and no other.
func TestEveryOpcodeHasAWord(t *testing.T) {
	words := make(map[string]bth.Opcode)
	for i := range 256 {
		op := bth.Opcode(i)
		if !op.Known() {
			continue
		}
		line := fault.Drop(fault.Match{Op: &op}).String()
		if strings.Contains(line, "(") { // the word is a class's, of which it is all
			require.Contains(t, []bth.Opcode{bth.RCReadRequest, bth.CNP}, op, line)
			continue
		}
		require.NotContains(t, words, line)
		words[line] = op
		rules, err := fault.Parse(line)
		require.NoError(t, err)
		require.Equal(t, fault.Drop(fault.Match{Op: &op}), rules[0])
	}
	require.Greater(t, len(words), 60)
}

// An error says where, what is wrong there, and what would be right.
func TestErrors(t *testing.T) {
	for script, want := range map[string][]string{
		"lose ack":                       {`line 1, column 1: "lose" is no kind of fault; there are drop, duplicate, delay,`},
		"# one\n\n  drop akc":            {`line 3, column 8: "akc" names no packets; there are any, request,`, "such as write-middle"},
		"drop":                           {"line 1, column 5: the end of the line names no packets"},
		"drop ack nht 2":                 {`line 1, column 10: "nht" has no meaning for drop; there are from, to, between,`},
		"drop ack by 2":                  {`column 10: "by" has no meaning for drop`},
		"drop äck":                       {`column 6: "äck"`},
		"drop any from ä nth x":          {`column 21: nth takes a number from 1, not "x"`},
		"drop ack nth":                   {"column 13: nth takes a number from 1, not the end of the line"},
		"drop ack nth 0":                 {`column 14: nth takes a number from 1, not "0"`},
		"drop ack nth 4294967296":        {"nth takes a number from 1"},
		"drop ack nth 1 count 2 nth 1":   {`column 24: "nth" is there twice`},
		"drop ack psn 0x1000000":         {`psn takes a number from 0 to 0xffffff, not "0x1000000"`},
		"drop ack qpn 0":                 {"qpn takes a number from 1 to 0xffffff"},
		"drop any p 1.5":                 {`p takes a probability above 0, at most 1, not "1.5"`},
		"drop any p NaN":                 {"p takes a probability"},
		"drop any p 0.1 seed 0":          {"seed takes a number from 1"},
		"drop any between a":             {"column 19: between takes the names of two ends, not the end of the line"},
		"delay any":                      {`column 10: delay needs "by", which takes a time such as 5ms`},
		"delay any by 5":                 {`column 14: by takes a time such as 5ms, not "5"`},
		"delay any by -5ms":              {"by takes a time"},
		"reorder any by 5ms":             {`by takes a number from 1, not "5ms"`},
		"corrupt any nth 3 # bit 5":      {`column 18: corrupt needs "bit"`},
		"random any":                     {"random needs the probability of something"},
		"drop x\nduplicate y\n drop any": {`line 1, column 6: "x"`, `line 2, column 11: "y"`},
	} {
		rules, err := fault.Parse(script)
		require.Nil(t, rules, script)
		var syntax *fault.ScriptError
		require.ErrorAs(t, err, &syntax, script)
		for _, text := range want {
			require.ErrorContains(t, err, text, script)
		}
	}
}

// What a script cannot say, the line of a rule still tells.
func TestRulesWithoutWords(t *testing.T) {
	r := fault.Drop(fault.Match{Has: bth.Send | bth.Last, Lacks: bth.First, If: func(*bth.Packet) bool { return true }, Nth: 3})
	require.Equal(t, "drop (flags 0x24, no flags 0x1) nth 3 (if a function says so)", r.String())
	_, err := fault.Parse(r.String())
	require.Error(t, err)
}
