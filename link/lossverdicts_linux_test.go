package link_test

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/transport"
)

// lossVerdicts is by what rules of the transport an end notices a fault.
var lossVerdicts = []struct {
	packets string
	faults  []string
	byX     bool // the requester
	rules   []transport.Rule
	each    bool // of the packets struck is noticed, not only some
}{
	{packets: "data", faults: []string{"drop", "corrupt", "reorder", "delay"}, rules: []transport.Rule{transport.RuleGap}},
	{packets: "data", faults: []string{"duplicate"}, rules: []transport.Rule{transport.RuleDuplicateSend}, each: true},
	{packets: "ACK", faults: []string{"drop", "corrupt"}, rules: []transport.Rule{transport.RuleDuplicateSend}},
	{packets: "ACK", faults: []string{"duplicate"}, byX: true, rules: late, each: true},
	{
		packets: "READ response", faults: []string{"drop", "corrupt", "reorder", "delay"}, byX: true,
		rules: []transport.Rule{transport.RuleReadGap, transport.RuleImpliedNAK},
	},
	{packets: "READ response", faults: []string{"duplicate"}, byX: true, rules: late, each: true},
}

// late are the rules of responses to what is completed already.
var late = []transport.Rule{transport.RuleOldResponse, transport.RuleNothingAsked}

// requireVerdicts: the end that can notice the fault has.
func (c *lossCell) requireVerdicts(kind, packets string) {
	for _, v := range lossVerdicts {
		if v.packets != packets || !slices.Contains(v.faults, kind) {
			continue
		}
		at, noticed := c.y, uint64(0)
		if v.byX {
			at = c.x
		}
		for _, r := range v.rules {
			noticed += at.counter(r)
		}
		require.NotZero(c, noticed, "%v; x: %v; y: %v", v.rules, c.x.dev.Stats(), c.y.dev.Stats())
		if v.each {
			require.GreaterOrEqual(c, noticed, c.struck(), "%v", v.rules)
		}
	}
	if packets == "data" && (kind == "drop" || kind == "corrupt") {
		require.GreaterOrEqual(c, c.x.qp.Stats().Retransmitted, c.struck(), "requests sent again")
	}
}

// requireCorruptionFound: each corrupted packet was dropped, by the kernel's socket for
// its UDP checksum, else for its ICRC, and no other.
func (c *lossCell) requireCorruptionFound(corrupted, socket bool) {
	sums, icrcs := c.x.badSums()+c.y.badSums(), c.x.counter(transport.RuleICRC)+c.y.counter(transport.RuleICRC)
	switch {
	case !corrupted:
		require.Equal(c, [2]uint64{}, [2]uint64{sums, icrcs}, "bad UDP checksums, bad ICRCs")
	case socket:
		require.Equal(c, [2]uint64{c.struck(), 0}, [2]uint64{sums, icrcs}, "bad UDP checksums, bad ICRCs")
	default:
		require.Equal(c, c.struck(), icrcs, "bad ICRCs")
	}
}

// badSums is the number of datagrams that the kernel of the end's host dropped for
// their UDP checksum.
func (e *lossEnd) badSums() (n uint64) {
	require.NoError(e, e.host.Do(func() error {
		for _, c := range []struct{ file, name string }{
			{"/proc/thread-self/net/snmp", "InCsumErrors"}, {"/proc/thread-self/net/snmp6", "Udp6InCsumErrors"},
		} {
			text, err := os.ReadFile(c.file)
			if err != nil {
				return err
			}
			n += kernelCounter(string(text), c.name)
		}
		return nil
	}))
	return n
}

// kernelCounter finds a counter of UDP's in one of the two forms: a line of names and
// one of numbers, or a name and its number in each line.
func kernelCounter(text, name string) (n uint64) {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == name:
			fmt.Sscan(words[1], &n)
		case words[0] == "Udp:" && names == nil:
			names = words
		case words[0] == "Udp:":
			for i := range names {
				if names[i] == name {
					fmt.Sscan(words[i], &n)
				}
			}
		}
	}
	return n
}
