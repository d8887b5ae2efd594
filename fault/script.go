package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ScriptError says what is wrong with a line of a script, and what would be right.
type ScriptError struct {
	Line, Column int // from 1; columns are characters
	Problem      string
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// Parse reads a script: see the package's documentation. The error has a
// [*ScriptError] for each line that is wrong, joined.
func Parse(script string) (rules []*Rule, err error) {
	var problems []error
	number := 0
	for text := range strings.Lines(script) {
		number++
		p := split(text)
		if len(p.words) == 0 {
			continue
		}
		r, problem := p.rule()
		if problem != nil {
			problem.Line = number
			problems = append(problems, problem)
		}
		rules = append(rules, r)
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return rules, nil
}

// parser reads one line.
type parser struct {
	words []word
	end   int // column behind the last
	at    int // the word to be read
}

// word is a word of a line and the column where it begins.
type word struct {
	text   string
	column int
}

// split finds the words of a line, up to a comment.
func split(line string) *parser {
	p, inWord := &parser{end: 1}, false
	for column, c := range []rune(line) {
		if c == '#' {
			break
		}
		switch {
		case unicode.IsSpace(c):
			inWord = false
			continue
		case !inWord:
			p.words = append(p.words, word{column: column + 1})
			inWord = true
		}
		last := &p.words[len(p.words)-1]
		last.text += string(c)
		p.end = column + 2
	}
	return p
}

// next is the next word; an empty one behind the last.
func (p *parser) next() word {
	if p.at == len(p.words) {
		return word{column: p.end}
	}
	p.at++
	return p.words[p.at-1]
}

func (w word) wrong(format string, args ...any) *ScriptError {
	return &ScriptError{Column: w.column, Problem: fmt.Sprintf(format, args...)}
}

// String is the word as an error quotes it.
func (w word) String() string {
	if w.text == "" {
		return "the end of the line"
	}
	return fmt.Sprintf("%q", w.text)
}

// rule reads the line.
func (p *parser) rule() (*Rule, *ScriptError) {
	w := p.next()
	k := slices.Index(kindWords[:], w.text)
	if k < 0 {
		return nil, w.wrong("%v is no kind of fault; there are %s", w, list(kindWords[:]))
	}
	r := &Rule{kind: kind(k)}
	w = p.next()
	what, ok := lookUp(vocabulary, w.text)
	if !ok {
		return nil, w.wrong("%v names no packets; there are %s, or one opcode, such as write-middle", w, list(classWords()))
	}
	what.narrow(&r.match)
	return r, p.clauses(r)
}

// clauses reads the rest of the line.
func (p *parser) clauses(r *Rule) *ScriptError {
	own := ownClauses(r.kind)
	given := make(map[string]bool)
	for p.at < len(p.words) {
		w := p.next()
		i := slices.IndexFunc(own, func(c *clause) bool { return c.word == w.text })
		switch {
		case i < 0:
			return w.wrong("%v has no meaning for %s; there are %s", w, kindWords[r.kind], list(clauseWords(own)))
		case given[w.text]:
			return w.wrong("%v is there twice", w)
		}
		given[w.text] = true
		if err := p.values(r, own[i]); err != nil {
			return err
		}
	}
	return p.missing(own, given, r)
}

// values reads the values of a clause.
func (p *parser) values(r *Rule, c *clause) *ScriptError {
	var first word
	var values []string
	for i := range c.values {
		w := p.next()
		if i == 0 || w.text == "" {
			first = w
		}
		values = append(values, w.text)
	}
	if slices.Contains(values, "") || !c.read(r, values) {
		return first.wrong("%s takes %s, not %v", c.word, c.takes, first)
	}
	return nil
}

// missing complains of what the rule cannot do without.
func (p *parser) missing(own []*clause, given map[string]bool, r *Rule) *ScriptError {
	end := word{column: p.end}
	for _, c := range own {
		if c.need && !given[c.word] {
			return end.wrong("%s needs %q, which takes %s", kindWords[r.kind], c.word, c.takes)
		}
	}
	if r.kind == rolling && r.luck == (Random{}) {
		return end.wrong("random needs the probability of something: drop, duplicate, reorder, corrupt or mark-ce")
	}
	return nil
}

// ownClauses are those that rules of a kind may have.
func ownClauses(k kind) (own []*clause) {
	for i := range clauses {
		if c := &clauses[i]; c.only == nil || slices.Contains(c.only, k) {
			own = append(own, c)
		}
	}
	return own
}

func clauseWords(of []*clause) (words []string) {
	for _, c := range of {
		words = append(words, c.word)
	}
	return words
}

func classWords() (words []string) {
	for _, c := range classes {
		words = append(words, c.word)
	}
	return words
}

func list(words []string) string { return strings.Join(words, ", ") }
