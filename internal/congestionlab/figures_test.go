package congestionlab

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/plots"
)

// Many flows are a few with names and colours, and the others; each is drawn from when it
// begins.
func TestManyFlowsInOneFigure(t *testing.T) {
	r := &Result{Scenario: build(t, "senders=9 starts=every_1ms duration=20ms")}
	for now := r.Scenario.Sample; now <= r.Scenario.Duration; now += r.Scenario.Sample {
		r.Samples = append(r.Samples, Sample{Time: now, Flows: make([]FlowSample, 9)})
	}
	curves := RateFigure([]*Result{r})[0].Curves
	var names []string
	for _, c := range curves {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"flow 1", "flow 2", "flow 3", "flow 4", "flow 5", "flow 6", "flows 7–9", "", ""}, names)
	require.Equal(t, plots.Grey, curves[8].Ink)
	require.NotEqual(t, plots.Grey, curves[5].Ink)
	for i, y := range curves[8].Y { // begins at 8 ms, the end of the fourth sample
		require.Equal(t, i < 4, math.IsNaN(y), "sample %d", i)
	}
}

// A flow in one line of text: a blank where it got nothing, a full block at the rate of the
// bottleneck.
func TestBars(t *testing.T) {
	r := &Result{Scenario: Default()}
	for i := range 2 * columns {
		r.Samples = append(r.Samples, Sample{Flows: []FlowSample{{Delivered: float64(i/20) * 0.25e9}}})
	}
	require.Equal(t, strings.Repeat(" ", 10)+strings.Repeat("▃", 10)+strings.Repeat("▅", 10)+strings.Repeat("▇", 10)+strings.Repeat("█", 10), r.bars(0))
}
