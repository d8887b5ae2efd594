package congestionlab

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ReadSettings reads a file of lines "key = value". What follows a # is a comment. Keys
// and values are checked one by one; name is the file's, for errors.
func ReadSettings(r io.Reader, name string) (settings []Setting, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		where := fmt.Sprintf("%s:%d", name, n)
		s, err := readSetting(text, where)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		settings = append(settings, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return settings, nil
}

func readSetting(text, where string) (s Setting, err error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return s, fmt.Errorf("%.40q is no setting; write key = value", text)
	}
	s = Setting{strings.TrimSpace(key), strings.TrimSpace(value), where}
	k, err := KeyNamed(s.Key)
	if err != nil {
		return s, err
	}
	return s, k.Check(s.Value)
}

// writeSettings writes a scenario as a file of all its keys, from which [ReadSettings]
// and [Build] make the same again.
func writeSettings(w io.Writer, s *Scenario) error {
	for _, k := range Keys {
		if _, err := fmt.Fprintf(w, "%s = %s\n", k.Name, k.Value(s)); err != nil {
			return err
		}
	}
	return nil
}
