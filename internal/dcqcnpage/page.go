package dcqcnpage

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed page.md
var pageText string

// Page writes the page.
func Page(all Results) (string, error) {
	t, err := template.New("page.md").Funcs(template.FuncMap{
		"table":      all.table,
		"value":      all.value,
		"proved":     all.proved,
		"parameters": parameters,
		"example":    example,
		"fixed":      fixedPoints,
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, nil)
	return out.String(), err
}

// proved counts the numbers that must be something, all of which are, or the page would
// not be written: docs/dcqcn_test.go holds it to that.
func (all Results) proved() (n int) {
	for _, row := range all {
		for _, c := range row.Checks {
			if c.bound() != "" {
				n++
			}
		}
	}
	return n
}
