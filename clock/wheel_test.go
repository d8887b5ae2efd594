package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/clock"
)

// revolution is more than a turn of the wheel.
const revolution = 1100 * time.Microsecond

// tick is how exactly the wheel keeps the order of what is due.
const tick = 1024

// Whatever is set, moved and removed, the wheel gives out exactly what is due, when it is
// due; and Next is neither late nor, after everything due is out, in the past.
func TestWheelAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w clock.Wheel[int]
		timers := make([]clock.Timer[int], 20)
		model := map[int]clock.Time{}
		for i := range timers {
			timers[i].Value = i
		}
		now := clock.Time(rapid.Int64Range(0, 1<<40).Draw(t, "begin"))
		present := now // when the wheel was last looked at
		distance := rapid.OneOf(
			rapid.Int64Range(-3000, 3000), rapid.Int64Range(0, int64(revolution)), rapid.Int64Range(0, 10*int64(revolution)))
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			i := rapid.IntRange(0, len(timers)-1).Draw(t, "timer")
			switch rapid.IntRange(0, 4).Draw(t, "action") {
			case 0, 1, 2:
				at := now.Add(time.Duration(distance.Draw(t, "distance")))
				w.Set(&timers[i], at)
				model[i] = at
			case 3:
				w.Remove(&timers[i])
				delete(model, i)
			case 4:
				now = now.Add(time.Duration(max(0, distance.Draw(t, "pass"))))
				last := clock.Time(0)
				for value, ok := w.Pop(now); ok; value, ok = w.Pop(now) {
					at, set := model[value]
					require.True(t, set && at <= now, "%d came out at %v, due at %v", value, now, at)
					delete(model, value)
					require.GreaterOrEqual(t, max(at, present)|(tick-1), last, "what is due earlier comes first, to the tick")
					last = at
				}
				present = now
				for value, at := range model {
					require.Greater(t, at, now, "%d did not come out", value)
				}
				require.Greater(t, w.Next(), now)
			}
			require.LessOrEqual(t, w.Next(), earliest(model))
			if len(model) == 0 {
				require.Equal(t, clock.Never, w.Next())
			}
		}
	})
}

func earliest(model map[int]clock.Time) clock.Time {
	first := clock.Never
	for _, at := range model {
		first = min(first, at)
	}
	return first
}

// Who does as Next says finds every timer at its very instant, near and far alike, in
// order.
func TestWheelIsExact(t *testing.T) {
	var w clock.Wheel[time.Duration]
	dues := []time.Duration{1, 2, 1023, 1024, 1025, 50_000, 999_999, revolution, 3 * revolution, time.Second}
	timers := make([]clock.Timer[time.Duration], len(dues))
	for i, d := range dues {
		timers[i].Value = d
		w.Set(&timers[i], clock.Time(d))
	}
	var out []time.Duration
	looks := 0
	for now := w.Next(); now != clock.Never; now = w.Next() {
		looks++
		for d, ok := w.Pop(now); ok; d, ok = w.Pop(now) {
			require.Equal(t, clock.Time(d), now)
			out = append(out, d)
		}
	}
	require.Equal(t, dues, out)
	require.Equal(t, len(dues), looks, "nobody has to look at a far timer before it is due")
}

// Timers of one tick come out in the order in which they were set, however often others are
// moved in between.
func TestWheelKeepsOrder(t *testing.T) {
	var w clock.Wheel[int]
	timers := make([]clock.Timer[int], 8)
	for i := range timers {
		timers[i].Value = i
		w.Set(&timers[i], 5000)
	}
	w.Set(&timers[0], 5000)
	w.Remove(&timers[3])
	w.Remove(&timers[3])
	var out []int
	for v, ok := w.Pop(5000); ok; v, ok = w.Pop(5000) {
		if v == 1 {
			w.Remove(&timers[2]) // which is due as well
		}
		out = append(out, v)
	}
	require.Equal(t, []int{1, 4, 5, 6, 7, 0}, out)
	require.Equal(t, clock.Never, w.Next())
}

// What is set for the past, by a wheel that nobody looked at for long, is due at once.
func TestWheelAfterAPause(t *testing.T) {
	var w clock.Wheel[int]
	var a, b clock.Timer[int]
	now := clock.Time(time.Hour)
	w.Set(&a, now+10)
	_, ok := w.Pop(now)
	require.False(t, ok)
	require.Equal(t, now+10, w.Next())
	w.Set(&b, 3)
	require.LessOrEqual(t, w.Next(), now)
	_, ok = w.Pop(now)
	require.True(t, ok)
	require.Equal(t, now+10, w.Next())
}

// Nothing is allocated once the wheel was used.
func TestWheelAllocates(t *testing.T) {
	var w clock.Wheel[int]
	var timer clock.Timer[int]
	w.Set(&timer, 1)
	now := clock.Time(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 10_000
		w.Set(&timer, now+5000)
		w.Pop(now)
		w.Pop(now + 5000)
	}))
}

func BenchmarkWheel(b *testing.B) {
	var w clock.Wheel[int]
	timers := make([]clock.Timer[int], 1000)
	now := clock.Time(0)
	for i := range timers {
		w.Set(&timers[i], clock.Time(i)*100)
	}
	for i := 0; b.Loop(); i++ {
		now += 100
		w.Set(&timers[i%len(timers)], now+100_000)
		w.Pop(now)
		w.Next()
	}
}
