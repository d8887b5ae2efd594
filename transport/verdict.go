package transport

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
)

// Action is what the receive path did with a packet.
type Action uint8

// Actions.
const (
	Dropped  Action = iota // not accepted, nothing changed, nothing is answered
	Ignored                // accepted as genuine, of no effect (old or ghost acknowledgements)
	Held                   // kept until the request before it comes
	Executed               // a request was carried out
	Advanced               // a response moved the send queue on
	Repeated               // a duplicate request: answered again, not carried out again
	Refused                // answered by a NAK after which the connection goes on
	Failed                 // the QP went to ERR
)

var actionNames = [...]string{
	Dropped: "dropped", Ignored: "ignored", Held: "held", Executed: "executed", Advanced: "advanced",
	Repeated: "repeated", Refused: "refused", Failed: "failed",
}

// String names the action.
func (a Action) String() string { return name(actionNames[:], uint8(a), "action") }

// Verdict says what the receive path did with one packet, and the rule it
// followed. It is a value: making one allocates nothing; its words are made only
// when a trace or an error asks for them.
type Verdict struct {
	Action Action
	Rule   Rule
	Behind uint16  // packets that were held behind this one and executed with it
	PSN    bth.PSN // the PSN that the rule speaks of, such as the expected one; see [Rule.HasPSN]
}

// String says in words what was done and why.
func (v Verdict) String() string {
	words := fmt.Sprintf("%s: %s", v.Action, v.Rule)
	if v.Rule.HasPSN() {
		words += fmt.Sprintf(" (PSN %d)", v.PSN)
	}
	if v.Behind > 0 {
		words += fmt.Sprintf("; executed with it: %d held behind the gap", v.Behind)
	}
	return words
}

// name looks a value up in a table of names.
func name(table []string, v uint8, kind string) string {
	if int(v) < len(table) && table[v] != "" {
		return table[v]
	}
	return fmt.Sprintf("%s %d", kind, v)
}
