package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// allowlist says which tests may skip, and why they may. A nil one lets all skip.
type allowlist struct {
	file     string
	patterns []*regexp.Regexp
}

// readAllowlist reads a file with a regular expression on each line that is neither
// empty nor a comment.
func readAllowlist(file string) (*allowlist, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &allowlist{file: file}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		p, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		a.patterns = append(a.patterns, p)
	}
	return a, lines.Err()
}

// refused returns the skips that no line allows.
func (a *allowlist) refused(skips []skip) []skip {
	if a == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(skips), func(s skip) bool {
		return slices.ContainsFunc(a.patterns, func(p *regexp.Regexp) bool { return p.MatchString(s.String()) })
	})
}
