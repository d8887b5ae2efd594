package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// round implements [plot.Ticker]: labels at multiples of 1, 2 or 5 times a power of ten,
// 4 to 10 of them, and one unlabelled mark between two.
type round struct{}

func (round) Ticks(from, to float64) (ticks []plot.Tick) {
	step, decimals := stepOf(to - from)
	for n := math.Ceil(2 * from / step); n*step/2 <= to; n++ {
		at := plot.Tick{Value: n * step / 2}
		if math.Mod(n, 2) == 0 {
			at.Label = strconv.FormatFloat(at.Value, 'f', decimals, 64)
		}
		ticks = append(ticks, at)
	}
	return ticks
}

// stepOf is the distance of labels on an axis of some length, and the decimals that it
// takes to write them.
func stepOf(length float64) (step float64, decimals int) {
	power := math.Floor(math.Log10(length / 4))
	step = math.Pow(10, power)
	for _, digit := range []float64{5, 2} {
		if length/(digit*step) >= 4 {
			step *= digit
			break
		}
	}
	return step, max(0, -int(power))
}
