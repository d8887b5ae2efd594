package dcqcnpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Results are rows in the order of [Cases].
type Results []Row

// Measure measures all cases.
func Measure() (all Results, err error) {
	for _, c := range Cases() {
		row, err := c.Measure()
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", c.ID, err)
		}
		all = append(all, row)
	}
	return all, nil
}

// Write writes one row a line.
func (all Results) Write(w io.Writer) error {
	for _, row := range all {
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what Write wrote.
func Read(raw []byte) (all Results, err error) {
	for line := range bytes.Lines(raw) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		var row Row
		if err := d.Decode(&row); err != nil {
			return nil, fmt.Errorf("result %d: %w", len(all)+1, err)
		}
		all = append(all, row)
	}
	return all, nil
}

// of are the rows of a scenario, all variants and flows.
func (all Results) of(scenario string) (list []Row) {
	for _, row := range all {
		if row.Scenario == scenario {
			list = append(list, row)
		}
	}
	return list
}

// check is a row's check by name.
func (r Row) check(name string) (Check, error) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, nil
		}
	}
	return Check{}, fmt.Errorf("%s has no %q: measure again", r.Scenario, name)
}
