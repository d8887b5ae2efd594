package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var dashes = []vg.Length{vg.Points(4), vg.Points(3)}

// stroke is a curve on its way to the page. It implements [plot.Plotter],
// [plot.DataRanger] and [plot.Thumbnailer].
type stroke struct {
	*Curve
	draw.LineStyle
	draw.GlyphStyle
}

// stroke prepares the i-th curve of a panel.
func (c *Curve) stroke(i int) (stroke, error) {
	if len(c.X) != len(c.Y) {
		return stroke{}, fmt.Errorf("curve %q has %d values of x and %d of y", c.Name, len(c.X), len(c.Y))
	}
	ink := c.ink(i)
	s := stroke{
		Curve:      c,
		LineStyle:  draw.LineStyle{Color: ink, Width: vg.Points(1.1)},
		GlyphStyle: draw.GlyphStyle{Color: ink, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}},
	}
	if c.Form == Dashed {
		s.Dashes = dashes
	}
	return s, nil
}

// Plot draws the curve, each run of values between NaNs for itself.
func (s stroke) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var run []vg.Point
	finish := func() {
		s.run(c, run)
		run = run[:0]
	}
	for i, y := range s.Y {
		if math.IsNaN(y) {
			finish()
			continue
		}
		run = append(run, vg.Point{X: toX(s.X[i]), Y: toY(y)})
	}
	finish()
}

// run draws what lies within the panel of some points.
func (s stroke) run(c draw.Canvas, run []vg.Point) {
	if s.Form != Dots {
		c.StrokeLines(s.LineStyle, c.ClipLinesXY(run)...)
		return
	}
	for _, at := range run {
		if c.Contains(at) {
			c.DrawGlyph(s.GlyphStyle, at)
		}
	}
}

// DataRange says which part of the plane the curve needs.
func (s stroke) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = math.Inf(1), math.Inf(1)
	xmax, ymax = math.Inf(-1), math.Inf(-1)
	for i, y := range s.Y {
		if math.IsNaN(y) {
			continue
		}
		xmin, xmax = min(xmin, s.X[i]), max(xmax, s.X[i])
		ymin, ymax = min(ymin, y), max(ymax, y)
	}
	return xmin, xmax, ymin, ymax
}

// Thumbnail draws a piece of the curve for the legend.
func (s stroke) Thumbnail(c *draw.Canvas) {
	middle := c.Center().Y
	if s.Form == Dots {
		c.DrawGlyph(s.GlyphStyle, vg.Point{X: c.Center().X, Y: middle})
		return
	}
	c.StrokeLine2(s.LineStyle, c.Min.X, middle, c.Max.X, middle)
}
