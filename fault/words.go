package fault

import (
	"strings"

	"github.com/rocinante-rdma/roce/bth"
)

// kindWords are the kinds in scripts.
var kindWords = [kinds]string{
	dropping: "drop", duplicating: "duplicate", delaying: "delay", reordering: "reorder",
	corrupting: "corrupt", marking: "mark-ce", rolling: "random",
}

// packets are a kind of packets that scripts have a word for.
type packets struct {
	word       string
	has, lacks bth.Flags
	answer     Answer
	op         bth.Opcode
	one        bool // only those of op
}

// classes are the packets that are more than one opcode, or not all of one.
var classes = []packets{
	{word: "any"},
	{word: "request", has: bth.Request},
	{word: "response", has: bth.Response},
	{word: "data", has: bth.Request | bth.Payload},
	{word: "send", has: bth.Send},
	{word: "write", has: bth.Write},
	{word: "read-request", has: bth.Read | bth.Request},
	{word: "read-response", has: bth.Read | bth.Response},
	{word: "atomic-request", has: bth.Atomic | bth.Request},
	{word: "atomic-response", has: bth.Atomic | bth.Response},
	{word: "ack", has: bth.Ack, answer: Positive},
	{word: "nak", has: bth.Ack, answer: Negative},
	{word: "rnr-nak", has: bth.Ack, answer: NotReady},
	{word: "cnp", has: bth.HasCNP},
}

// vocabulary is the classes, and every opcode whose name is not a class's.
var vocabulary = buildVocabulary()

func buildVocabulary() []packets {
	all := classes
	for i := range 1 << 8 {
		op := bth.Opcode(i)
		word := opcodeWord(op)
		if _, taken := lookUp(all, word); op.Known() && !taken {
			all = append(all, packets{word: word, op: op, one: true})
		}
	}
	return all
}

// opcodeWord is an opcode's name as one word. Those of the reliable connection go
// without its name.
func opcodeWord(op bth.Opcode) string {
	name := strings.TrimPrefix(op.String(), "RC ")
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "RDMA ", ""), " ", "-"))
}

func lookUp(all []packets, word string) (packets, bool) {
	for _, p := range all {
		if p.word == word {
			return p, true
		}
	}
	return packets{}, false
}

// narrow makes a Match be about these packets.
func (p packets) narrow(m *Match) {
	m.Has, m.Lacks, m.Answer = p.has, p.lacks, p.answer
	if p.one {
		m.Op = &p.op
	}
}

// are reports whether a Match is about these packets, as far as opcodes say.
func (p packets) are(m *Match) bool {
	return m.Has == p.has && m.Lacks == p.lacks && m.Answer == p.answer &&
		(m.Op != nil) == p.one && (m.Op == nil || *m.Op == p.op)
}

// wordFor is the word for what a Match is about; "" if scripts have none.
func wordFor(m *Match) string {
	for _, p := range vocabulary {
		if p.are(m) {
			return p.word
		}
	}
	return ""
}
