package fault

import (
	"fmt"
	"strings"
)

// String is the rule as a line of a script. What scripts have no words for, it says in
// parentheses, and Parse does not take it.
func (r *Rule) String() string {
	what := wordFor(&r.match)
	if what == "" {
		what = r.match.unspoken()
	}
	line := []string{kindWords[r.kind], what}
	for _, c := range ownClauses(r.kind) {
		if v := c.write(r); v != "" {
			line = append(line, c.word, v)
		}
	}
	if r.match.If != nil {
		line = append(line, "(if a function says so)")
	}
	return strings.Join(line, " ")
}

// unspoken describes packets that have no word.
func (m *Match) unspoken() string {
	var parts []string
	if m.Op != nil {
		parts = append(parts, m.Op.String())
	}
	if m.Has != 0 {
		parts = append(parts, fmt.Sprintf("flags 0x%x", uint32(m.Has)))
	}
	if m.Lacks != 0 {
		parts = append(parts, fmt.Sprintf("no flags 0x%x", uint32(m.Lacks)))
	}
	if m.Answer != AnyAnswer {
		parts = append(parts, [...]string{Positive: "ACK", Negative: "NAK", NotReady: "RNR NAK"}[m.Answer])
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
