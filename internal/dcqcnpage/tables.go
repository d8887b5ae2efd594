package dcqcnpage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// table shows checks of a scenario and variant, one line for each number of flows, and
// below what they must be. A variant "*" means a line for each variant.
func (all Results) table(scenario, variant string, names ...string) (string, error) {
	groups := all.groups(scenario, variant)
	if len(groups) == 0 {
		return "", fmt.Errorf("no result of %s, %s: measure again", scenario, variant)
	}
	first := "flows"
	if variant == "*" {
		first = "case"
	}
	lines := []string{
		"| " + first + " | " + strings.Join(names, " | ") + " |",
		"|---|" + strings.Repeat("---:|", len(names)),
	}
	columns := make([]bounds, len(names))
	for _, rows := range groups {
		line := "| " + strconv.Itoa(rows[0].Flows)
		if variant == "*" {
			line = "| " + rows[0].Variant
		}
		for i, name := range names {
			cell, bound, err := cellOf(rows, name)
			if err != nil {
				return "", err
			}
			columns[i].add(bound)
			line += " | " + cell
		}
		lines = append(lines, line+" |")
	}
	return strings.Join(append(lines, lastLine(columns)...), "\n"), nil
}

// bounds are those of a column.
type bounds []string

// add takes a row's bound, if it has one that no row before had.
func (b *bounds) add(bound string) {
	if bound != "" && !slices.Contains(*b, bound) {
		*b = append(*b, bound)
	}
}

// lastLine says what all of a column must be; nothing where there is no such thing, or it
// differs.
func lastLine(columns []bounds) []string {
	line, any := "| *must be* |", false
	for _, b := range columns {
		if len(b) == 1 {
			line, any = line+" "+b[0]+" |", true
		} else {
			line += " |"
		}
	}
	if !any {
		return nil
	}
	return []string{line}
}

// groups are the rows that differ in the seed only.
func (all Results) groups(scenario, variant string) (groups [][]Row) {
	for _, row := range all.of(scenario) {
		if variant != "*" && row.Variant != variant {
			continue
		}
		i := slices.IndexFunc(groups, func(g []Row) bool { return g[0].Flows == row.Flows && g[0].Variant == row.Variant })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], row)
	}
	return groups
}

// cellOf is what some seeds came to, as a range, with what was expected and by how much
// they are off.
func cellOf(rows []Row, name string) (cell, bound string, err error) {
	least, most, expected, bound, err := span(rows, name)
	if err != nil {
		return "", "", err
	}
	cell = spread(number(least), number(most))
	if expected != 0 {
		cell += fmt.Sprintf(" of %s (%s %%)", number(expected), spread(percent(least/expected-1), percent(most/expected-1)))
	}
	return cell, bound, nil
}

func span(rows []Row, name string) (least, most, expected float64, bound string, err error) {
	for i, row := range rows {
		c, err := row.check(name)
		if err != nil {
			return 0, 0, 0, "", err
		}
		if i == 0 {
			least, most = c.Measured, c.Measured
		}
		least, most = min(least, c.Measured), max(most, c.Measured)
		expected, bound = c.Expected, c.bound()
	}
	return least, most, expected, bound, nil
}

// spread is a range, or one value if its ends look alike.
func spread(a, b string) string {
	if a == b {
		return a
	}
	return a + " … " + b
}

// percent is signed, and nothing has no sign.
func percent(part float64) string {
	if s := fmt.Sprintf("%+.0f", 100*part); s != "-0" && s != "+0" {
		return s
	}
	return "0"
}

// number has three digits, or all before the point.
func number(x float64) string {
	switch {
	case x >= 100 || x == float64(int64(x)):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x > 0.99 && x < 1:
		return strconv.FormatFloat(x, 'f', 4, 64) // of what is nearly all, what is missing counts
	}
	return fmt.Sprintf("%#.3g", x)
}

// value is a single check's range, for the text.
func (all Results) value(scenario, variant string, flows int, name string) (string, error) {
	for _, rows := range all.groups(scenario, variant) {
		if rows[0].Flows == flows {
			least, most, _, _, err := span(rows, name)
			return spread(number(least), number(most)), err
		}
	}
	return "", fmt.Errorf("no result of %s, %s with %d flows: measure again", scenario, variant, flows)
}
