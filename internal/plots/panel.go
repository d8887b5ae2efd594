package plots

import "image/color"

// Panel is one diagram.
type Panel struct {
	Title string // above it; "": none
	X, Y  string // what the axes show, with its unit: "time, ms"

	// The upper ends of the axes; 0: the largest value. Give panels that are to be
	// compared the same.
	XMax, YMax float64

	Curves []Curve
	Levels []Level
}

// Curve is one line of a panel. X and Y have one length; a NaN in Y interrupts the line.
type Curve struct {
	Name string // in the legend; "": not there
	X, Y []float64
	Form Form
	Ink  Ink // the zero value: the next one of the panel
}

// Form is how a curve is drawn.
type Form uint8

// Forms.
const (
	Line   Form = iota
	Dashed      // for what was calculated, beside what was measured
	Dots        // unconnected
)

// Level is a horizontal line with its name beside it: a threshold, a capacity.
type Level struct {
	Name string
	Y    float64
}

// Ink is a colour of the palette.
type Ink uint8

// Inks, in the order in which curves get them.
const (
	nextInk Ink = iota
	Blue
	Vermilion
	Green
	Purple
	Sky
	Orange
	Black
	Grey // for what stays in the background; no curve gets it by itself
)

// colours of the inks: Okabe and Ito's without their yellow, which is lost on white.
var colours = [...]color.RGBA{
	Blue:      {0x00, 0x72, 0xb2, 0xff},
	Vermilion: {0xd5, 0x5e, 0x00, 0xff},
	Green:     {0x00, 0x9e, 0x73, 0xff},
	Purple:    {0xcc, 0x79, 0xa7, 0xff},
	Sky:       {0x56, 0xb4, 0xe9, 0xff},
	Orange:    {0xe6, 0x9f, 0x00, 0xff},
	Black:     {0x00, 0x00, 0x00, 0xff},
	Grey:      {0x88, 0x88, 0x88, 0xff},
}

// InkOf is the ink of the i-th curve of a panel, counted from 0; they repeat.
func InkOf(i int) Ink { return Blue + Ink(i%int(Grey-Blue)) }

// ink is the colour of the i-th curve.
func (c *Curve) ink(i int) color.Color {
	if c.Ink == nextInk {
		return colours[InkOf(i)]
	}
	return colours[c.Ink]
}
