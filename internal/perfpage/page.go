package perfpage

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md
var pageText string

// Page writes the page. It fails if the results lack a benchmark that the page
// shows, or have one that it does not show.
func Page(r *Results) (string, error) {
	if err := r.checkShown(); err != nil {
		return "", err
	}
	w := writer{results: r}
	t, err := template.New("page.md").Option("missingkey=error").Funcs(template.FuncMap{
		"table": w.table, "prototype": w.besidePrototype, "noise": w.noise, "join": strings.Join,
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, r)
	return out.String(), err
}

// checkShown looks for benchmarks that no table has.
func (r *Results) checkShown() error {
	shown := make(map[string]bool)
	for _, t := range r.tables() {
		for _, row := range t.rows {
			shown[row.bench] = true
		}
	}
	for _, round := range r.Rounds {
		for _, name := range slices.Sorted(maps.Keys(round)) {
			if !shown[name] {
				return fmt.Errorf("no table shows %s: add it to tables.go", name)
			}
		}
	}
	return nil
}

// writer writes the parts of the page.
type writer struct{ results *Results }

// table writes the table of a name as Markdown.
func (w *writer) table(name string) (string, error) {
	t, found := w.results.tables()[name]
	if !found {
		return "", fmt.Errorf("there is no table %q", name)
	}
	var head, rule strings.Builder
	fmt.Fprintf(&head, "| %s |", t.subject)
	rule.WriteString("|---|")
	for _, c := range t.columns {
		fmt.Fprintf(&head, " %s |", c.head)
		rule.WriteString("---:|")
		if !t.alone {
			head.WriteString(" × baseline |")
			rule.WriteString("---:|")
		}
	}
	if !t.alone {
		head.WriteString(" allocs/op |")
		rule.WriteString("---:|")
	}
	lines := []string{head.String(), rule.String()}
	for _, row := range t.rows {
		line, err := w.row(row, t)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

func (w *writer) row(r row, t table) (string, error) {
	line := "| " + r.label + " |"
	for _, c := range t.columns {
		values, err := w.results.values(r.bench, c.unit)
		if err != nil {
			return "", err
		}
		if t.alone {
			line += fmt.Sprintf(" %v |", spreadOf(values))
			continue
		}
		ratio, err := w.ratio(r, c, values)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" %v | %s |", spreadOf(values), ratio)
	}
	if t.alone {
		return line, nil
	}
	allocs, err := w.results.values(r.bench, "allocs/op")
	if err != nil {
		return "", err
	}
	return line + fmt.Sprintf(" %.0f |", slices.Max(allocs)), nil
}

// ratio compares a row's values with its baseline's.
func (w *writer) ratio(r row, c column, values []float64) (string, error) {
	if r.baseline == "" {
		return "1", nil
	}
	baseline, err := w.results.values(r.baseline, c.unit)
	if err != nil {
		return "", err
	}
	return spreadOf(ratios(values, baseline)).String(), nil
}

// noise says how much the values of one and the same benchmark differ between
// rounds.
func (w *writer) noise() (string, error) {
	var all []float64
	for _, t := range w.results.tables() {
		if t.alone {
			continue // some of these are what the machine did
		}
		for _, row := range t.rows {
			for _, c := range t.columns {
				values, err := w.results.values(row.bench, c.unit)
				if err != nil {
					return "", err
				}
				all = append(all, 100*spreadOf(values).relative())
			}
		}
	}
	if len(all) == 0 {
		return "", errors.New("there are no tables")
	}
	s := spreadOf(all)
	return fmt.Sprintf("by %.0f %% of their median, in the median over the numbers on this page; by %.0f %% where it is most", s.median, s.max), nil
}
