// Package plots draws curves: panels one below the other, with their axes aligned, as
// SVG or PNG.
//
//	err := plots.Save("rate.svg", plots.Panel{
//		Title: "Two flows", X: "time, ms", Y: "rate, Mb/s",
//		Curves: []plots.Curve{{Name: "flow 1", X: ms, Y: rate}},
//		Levels: []plots.Level{{Name: "fair share", Y: 500}},
//	})
//
// The same panels give the same bytes. Axes begin at zero unless the data lies below it,
// so that heights can be compared by eye. The colours are those of Okabe and Ito ("Color
// Universal Design", 2008), which people with any kind of colour vision tell apart.
package plots
