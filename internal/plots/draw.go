package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of text, in points.
const (
	titleSize = 12
	labelSize = 10
	smallSize = 8
)

// headroom is what is left free above the highest value.
const headroom = 1.05

var pale = color.Gray{Y: 0xe4} // the grid

// sans is the family of all text.
func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
}

// plot makes the diagram of a panel, without its legend, which stands beside it.
func (p *Panel) plot() (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.Title, p.X, p.Y
	out.Title.TextStyle.Font, out.Title.Padding = sans(titleSize), vg.Points(6)
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(labelSize), sans(smallSize)
		a.Tick.Length, a.Tick.Marker, a.Padding = vg.Points(4), round{}, 0
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	out.Add(grid)
	for i := range p.Curves {
		s, err := p.Curves[i].stroke(i)
		if err != nil {
			return nil, fmt.Errorf("plots: panel %q: %w", p.Title, err)
		}
		out.Add(s)
	}
	p.scale(out)
	for _, l := range p.Levels {
		l.addTo(out)
	}
	return out, nil
}

// scale sets the ends of the axes.
func (p *Panel) scale(out *plot.Plot) {
	out.X.Min, out.Y.Min = min(out.X.Min, 0), min(out.Y.Min, 0)
	for _, l := range p.Levels {
		out.Y.Max = max(out.Y.Max, l.Y)
	}
	out.Y.Max *= headroom
	if p.XMax > 0 {
		out.X.Max = p.XMax
	}
	if p.YMax > 0 {
		out.Y.Max = p.YMax
	}
	// Without data an axis still needs a length.
	out.X.Max = max(out.X.Max, out.X.Min+1e-9)
	out.Y.Max = max(out.Y.Max, out.Y.Min+1e-9)
}

// addTo draws a level over the whole width, with its name beside its right end.
func (l *Level) addTo(out *plot.Plot) {
	ends := plotter.XYs{{X: out.X.Min, Y: l.Y}, {X: out.X.Max, Y: l.Y}}
	out.Add(&plotter.Line{XYs: ends, LineStyle: draw.LineStyle{
		Color: colours[Grey], Width: vg.Points(0.6), Dashes: dashes,
	}}, &plotter.Labels{
		XYs: ends[1:], Labels: []string{l.Name}, Offset: vg.Point{X: vg.Points(4)},
		TextStyle: []text.Style{{
			Color: colours[Grey], Font: sans(smallSize), YAlign: draw.YCenter, Handler: plot.DefaultTextHandler,
		}},
	})
}
