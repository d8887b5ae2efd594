package plots_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/plots"
)

// panels are two with everything that a panel can have.
func panels() []plots.Panel {
	var x, up, down []float64
	for i := range 200 {
		x = append(x, float64(i))
		up = append(up, 1000*float64(i)/200)
		down = append(down, 500+400*math.Sin(float64(i)/20))
	}
	down[50] = math.NaN()
	return []plots.Panel{
		{
			Title: "Rates", X: "time, ms", Y: "rate, Mb/s",
			Curves: []plots.Curve{{Name: "flow 1", X: x, Y: up}, {Name: "flow 2 <&>", X: x, Y: down, Form: plots.Dashed}},
			Levels: []plots.Level{{Name: "fair share", Y: 500}},
		},
		{
			X: "time, ms", Y: "queue, KB", YMax: 400,
			Curves: []plots.Curve{{X: x[:20], Y: down[:20], Form: plots.Dots, Ink: plots.Black}},
			Levels: []plots.Level{{Name: "Kmin", Y: 40}, {Name: "Kmax", Y: 200}},
		},
	}
}

// An SVG is well-formed XML, the same every time.
func TestSVG(t *testing.T) {
	var first, again bytes.Buffer
	require.NoError(t, plots.Write(&first, ".svg", panels()...))
	require.NoError(t, plots.Write(&again, ".svg", panels()...))
	require.Equal(t, first.String(), again.String())
	for _, s := range []string{"fair share", "flow 2 &lt;&amp;&gt;", "queue, KB", "Arial,Helvetica,sans-serif"} {
		require.Contains(t, first.String(), s)
	}
	for d := xml.NewDecoder(&first); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

// A PNG decodes, is as large as its panels need, and has the colours of its curves.
func TestPNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.png")
	require.NoError(t, plots.Save(path, panels()...))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	size := img.Bounds().Size()
	require.Equal(t, 1134, size.X, "20 cm at 144 dots per inch")
	require.Greater(t, size.Y, size.X*2/3)
	seen := map[[3]uint32]int{}
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	require.NotZero(t, seen[[3]uint32{0x00, 0x72, 0xb2}], "the first curve is blue")
	require.NotZero(t, seen[[3]uint32{0xd5, 0x5e, 0x00}], "the second is vermilion")
	require.Greater(t, seen[[3]uint32{0xff, 0xff, 0xff}], size.X*size.Y/2, "the page is white")
}

// Nothing to draw is a picture too: a run that was cancelled at once.
func TestEmptyCurves(t *testing.T) {
	for _, p := range []plots.Panel{{}, {Curves: []plots.Curve{{Name: "nothing"}}}, {Curves: []plots.Curve{{X: []float64{0}, Y: []float64{0}}}}} {
		require.NoError(t, plots.Write(io.Discard, ".svg", p))
		require.NoError(t, plots.Write(io.Discard, ".png", p))
	}
}

func TestMistakes(t *testing.T) {
	uneven := plots.Panel{Title: "Rates", Curves: []plots.Curve{{Name: "a", X: []float64{1}}}}
	require.EqualError(t, plots.Write(io.Discard, ".svg", uneven),
		`plots: panel "Rates": curve "a" has 1 values of x and 0 of y`)
	require.EqualError(t, plots.Save("curves.jpeg", panels()...), `plots: cannot draw a ".jpeg": there are .svg and .png`)
	require.EqualError(t, plots.Save("curves.svg"), "plots: there is no panel to draw")
	require.ErrorContains(t, plots.Save(filepath.Join(t.TempDir(), "nowhere", "curves.svg"), panels()...), "no such file")
}
