//go:build linux

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// otherSources reads the apt sources under etc (as /etc/apt) of a machine that
// runs the release own, keeps those of that release, and returns them with
// their suites changed to those of another release. The result is by file name.
func otherSources(etc, own string, to release) (map[string]string, error) {
	var stanzas, lines []string
	files, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	for _, f := range append([]string{filepath.Join(etc, "sources.list")}, files...) {
		b, err := os.ReadFile(f)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch filepath.Ext(f) {
		case ".sources":
			for _, s := range strings.Split(string(b), "\n\n") {
				if t, ok := otherStanza(s, own, to); ok {
					stanzas = append(stanzas, t)
				}
			}
		case ".list":
			for _, l := range strings.Split(string(b), "\n") {
				lines = append(lines, otherLines(l, own, to)...)
			}
		}
	}
	if len(stanzas)+len(lines) == 0 {
		return nil, fmt.Errorf("guest: %s has no source of the suite %s from which those of %s could be derived", etc, own, to.name)
	}
	out := map[string]string{}
	if len(stanzas) > 0 {
		out["guest.sources"] = strings.Join(stanzas, "\n")
	}
	if len(lines) > 0 {
		out["guest.list"] = strings.Join(lines, "\n") + "\n"
	}
	return out, nil
}

// otherSuites maps suites of the release own to those of another; others are
// dropped. The release's main suite brings its backports along, if wanted.
func otherSuites(suites []string, own string, to release) []string {
	var out []string
	for _, s := range suites {
		rest, ok := strings.CutPrefix(s, own)
		switch {
		case ok && rest == "":
			out = append(out, to.name)
			if to.backports {
				out = append(out, to.name+"-backports")
			}
		case rest == "-updates" || rest == "-security":
			out = append(out, to.name+rest)
		}
	}
	return out
}

// otherStanza changes the suites of one deb822 stanza.
func otherStanza(stanza, own string, to release) (string, bool) {
	f := deb822Fields(stanza)
	suites := otherSuites(strings.Fields(f["suites"]), own, to)
	if len(suites) == 0 || !strings.Contains(f["types"], "deb") || f["enabled"] == "no" {
		return "", false
	}
	f["types"], f["suites"], f["components"] = "deb", strings.Join(suites, " "), "main"
	var names []string
	for k := range f {
		if k != "" {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	var b strings.Builder
	for _, k := range names {
		fmt.Fprintf(&b, "%s: %s\n", k, f[k])
	}
	return b.String(), true
}

// otherLines changes the suite of one line of the older format:
// deb [options] uri suite component...
func otherLines(line, own string, to release) []string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
	if !ok {
		return nil
	}
	rest = strings.TrimSpace(rest)
	head := "deb "
	if strings.HasPrefix(rest, "[") {
		opts, after, ok := strings.Cut(rest, "]")
		if !ok {
			return nil
		}
		head += opts + "] "
		rest = after
	}
	f := strings.Fields(rest)
	if len(f) < 3 {
		return nil
	}
	var out []string
	for _, s := range otherSuites(f[1:2], own, to) {
		out = append(out, head+f[0]+" "+s+" main")
	}
	return out
}
