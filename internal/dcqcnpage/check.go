package dcqcnpage

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Check is one number that a case came to. Of the conditions those count that are not zero;
// a check without any is there to be shown.
type Check struct {
	Name     string
	Measured float64
	Expected float64 `json:",omitempty"`

	Within float64 `json:",omitempty"` // part of Expected that Measured may differ from it
	Apart  float64 `json:",omitempty"` // by how much Measured may differ from Expected
	Above  float64 `json:",omitempty"` // Measured must be more
	Below  float64 `json:",omitempty"` // Measured must be less
}

// Holds reports whether the number is what it must be.
func (c Check) Holds() bool {
	return !math.IsNaN(c.Measured) &&
		(c.Within == 0 || math.Abs(c.Measured-c.Expected) <= c.Within*c.Expected) &&
		(c.Apart == 0 || math.Abs(c.Measured-c.Expected) <= c.Apart) &&
		(c.Above == 0 || c.Measured > c.Above) &&
		(c.Below == 0 || c.Measured < c.Below)
}

func (c Check) String() string {
	s := fmt.Sprintf("%s: %g", c.Name, c.Measured)
	if c.Expected != 0 {
		s += fmt.Sprintf(", %+.1f %% of %g", 100*(c.Measured/c.Expected-1), c.Expected)
	}
	if bound := c.bound(); bound != "" {
		s += ", must be " + bound
	}
	return s
}

// bound is the condition in words, "" if there is none.
func (c Check) bound() string {
	var words []string
	for _, w := range []struct {
		format string
		limit  float64
	}{{"± %g %%", 100 * c.Within}, {"± %g", c.Apart}, {"> %g", c.Above}, {"< %g", c.Below}} {
		if w.limit != 0 {
			words = append(words, fmt.Sprintf(w.format, w.limit))
		}
	}
	return strings.Join(words, ", ")
}

func within(name string, measured, expected, part float64) Check {
	return Check{Name: name, Measured: round(measured), Expected: round(expected), Within: part}
}

func above(name string, measured, limit float64) Check {
	return Check{Name: name, Measured: round(measured), Above: limit}
}

func below(name string, measured, limit float64) Check {
	return Check{Name: name, Measured: round(measured), Below: limit}
}

func apart(name string, measured, expected, by float64) Check {
	return Check{Name: name, Measured: round(measured), Expected: round(expected), Apart: by}
}

// shown is a number that need not be anything, beside another, if there is one.
func shown(name string, measured, expected float64) Check {
	return Check{Name: name, Measured: round(measured), Expected: round(expected)}
}

// round leaves five digits, which are the same on every CPU.
func round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	return y
}
