package transport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/transport"
)

// Every value of the vocabulary has words of its own, and a value beyond has its
// number.
func TestWords(t *testing.T) {
	distinct(t, transport.NumRules, "rule")
	distinct(t, transport.NumCauses, "cause")
	distinct(t, transport.BlockedFailing+1, "blocked")
	distinct(t, transport.NumClasses, "class")
	distinct(t, transport.Failed+1, "action")
}

// Events have the values and the words of ibv_event_type_str; what verbs do not know
// has values beyond.
func TestEventWords(t *testing.T) {
	words := map[transport.Event]string{
		0: "CQ error", 1: "local work queue catastrophic error", 2: "invalid request local work queue error",
		3: "local access violation work queue error", 4: "communication established", 5: "send queue drained",
		8: "local catastrophic error", 9: "port active", 10: "port error", 15: "SRQ limit reached",
		16: "last WQE reached", 18: "GID table change", 64: "peer moved", 65: "MTU change",
	}
	for e := range transport.Event(100) {
		if want, ok := words[e]; ok {
			require.Equal(t, want, e.String())
		} else {
			require.Equal(t, fmt.Sprintf("event %d", e), e.String())
		}
		require.Equal(t, e < 4 || e == 8, e.Fatal(), e.String())
	}
}

type word interface {
	~uint8
	fmt.Stringer
}

func distinct[W word](t *testing.T, n W, kind string) {
	t.Helper()
	require.Equal(t, fmt.Sprintf("%s %d", kind, uint8(n)), n.String())
	seen := map[string]W{}
	for w := range n {
		require.NotRegexp(t, `^`+kind+` \d+$`, w.String())
		require.NotContains(t, seen, w.String())
		seen[w.String()] = w
	}
}

// A verdict names a PSN where its rule speaks of one.
func TestVerdict(t *testing.T) {
	for want, v := range map[string]transport.Verdict{
		"dropped: undefined opcode":                                      {Rule: transport.RuleOpcode, PSN: 7},
		"advanced: congestion notification":                              {Action: transport.Advanced, Rule: transport.RuleCNP},
		"ignored: congestion notification to a queue pair without DCQCN": {Action: transport.Ignored, Rule: transport.RuleCNPIgnored, PSN: 7},
		"executed: expected request (PSN 7)":                             {Action: transport.Executed, Rule: transport.RuleInOrder, PSN: 7},
		"ignored: nothing is outstanding (PSN 0)":                        {Action: transport.Ignored, Rule: transport.RuleNothingAsked},
	} {
		require.Equal(t, want, v.String())
	}
}

// Retransmissions are the causes that say so.
func TestRetransmission(t *testing.T) {
	for c := range transport.NumCauses {
		require.Equal(t, strings.HasPrefix(c.String(), "retransmission:"), c.Retransmission(), c.String())
	}
}
