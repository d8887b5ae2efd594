package trace

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks text at spaces into lines of at most width runes; words that are
// longer are cut. Line breaks in the text are kept, other unprintable runes are
// replaced.
func wrap(text string, width int) (lines []string) {
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range splitWords(strings.Map(printable, paragraph)) {
			word = cut(word, width)
			switch {
			case line == "":
				line = word
			case runes(line)+1+runes(word) <= width:
				line += " " + word
			default:
				lines, line = append(lines, line), word
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// splitWords splits at spaces, but keeps short parentheses such as "(64 B)" whole.
func splitWords(text string) (words []string) {
	const short = 12
	for _, word := range strings.Fields(text) {
		if n := len(words) - 1; n >= 0 && isOpen(words[n]) && len(words[n])+len(word) < short {
			words[n] += " " + word
		} else {
			words = append(words, word)
		}
	}
	return words
}

func isOpen(word string) bool { return word[0] == '(' && !strings.HasSuffix(word, ")") }

func runes(s string) int { return utf8.RuneCountInString(s) }

// cut shortens text to n runes.
func cut(s string, n int) string {
	if runes(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printable replaces what would disturb the drawing.
func printable(c rune) rune {
	if unicode.IsPrint(c) || c == '\n' {
		return c
	}
	return '·'
}
