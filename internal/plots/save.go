package plots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes on the page.
const (
	pageWidth   = 20 * vg.Centimeter
	panelHeight = 7 * vg.Centimeter
	margin      = 3 * vg.Millimeter
	gap         = 5 * vg.Millimeter // between panels
	dotsPerInch = 144
)

// Save draws the panels, one below the other, into a file. The name's ending says how:
// .svg or .png.
func Save(path string, panels ...Panel) error {
	var b bytes.Buffer
	if err := Write(&b, filepath.Ext(path), panels...); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	return nil
}

// Write is [Save] to a writer; ext is ".svg" or ".png".
func Write(w io.Writer, ext string, panels ...Panel) error {
	if len(panels) == 0 {
		return errors.New("plots: there is no panel to draw")
	}
	height := 2*margin + panelHeight*vg.Length(len(panels)) + gap*vg.Length(len(panels)-1)
	switch ext {
	case ".png":
		c := vgimg.NewWith(vgimg.UseWH(pageWidth, height), vgimg.UseDPI(dotsPerInch))
		if err := page(draw.New(c), panels); err != nil {
			return err
		}
		return write(w, vgimg.PngCanvas{Canvas: c})
	case ".svg":
		c := vgsvg.New(pageWidth, height)
		if err := page(draw.New(c), panels); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := write(&b, c); err != nil {
			return err
		}
		return write(w, strings.NewReader(withFallback(b.String())))
	}
	return fmt.Errorf("plots: cannot draw a %q: there are .svg and .png", ext)
}

func write(w io.Writer, from io.WriterTo) error {
	if _, err := from.WriteTo(w); err != nil {
		return fmt.Errorf("plots: writing the picture failed: %w", err)
	}
	return nil
}

// withFallback names, for viewers without the font, others of the same widths.
func withFallback(svg string) string {
	return strings.ReplaceAll(svg, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
}

// page draws the panels with their axes aligned, and the legends to their right.
func page(c draw.Canvas, panels []Panel) error {
	var rows [][]*plot.Plot
	var legends []plot.Legend
	var column vg.Length
	for i := range panels {
		p, err := panels[i].plot()
		if err != nil {
			return err
		}
		l, width := panels[i].legend()
		rows, legends, column = append(rows, []*plot.Plot{p}), append(legends, l), max(column, width)
	}
	c.SetColor(plot.New().BackgroundColor)
	c.Fill(c.Path())
	diagrams := draw.Crop(c, margin, -margin-column, margin, -margin)
	for i, cell := range plot.Align(rows, draw.Tiles{Rows: len(rows), Cols: 1, PadY: gap}, diagrams) {
		rows[i][0].Draw(cell[0])
		beside := rows[i][0].DataCanvas(cell[0])
		beside.Min.X, beside.Max.X = c.Max.X-column, c.Max.X
		legends[i].Draw(beside)
	}
	return nil
}

// legend names the curves of a panel; width is what it takes on the page.
func (p *Panel) legend() (l plot.Legend, width vg.Length) {
	l = plot.NewLegend()
	l.TextStyle.Font = sans(smallSize)
	l.Top, l.Left, l.Padding, l.ThumbnailWidth = true, true, vg.Points(3), vg.Points(16)
	for i := range p.Curves {
		c := &p.Curves[i]
		if c.Name == "" {
			continue
		}
		s, err := c.stroke(i)
		if err != nil {
			continue // plot has said so
		}
		l.Add(c.Name, s)
		width = max(width, margin+l.ThumbnailWidth+l.TextStyle.Width(" "+c.Name))
	}
	return l, width
}
