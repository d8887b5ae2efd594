package engine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/clock"
)

// The heap against a map, over random histories.
func TestDeadlinesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d deadlines
		qps := make([]*QP, 12)
		for i := range qps {
			qps[i] = &QP{deadline: deadline{due: clock.Never}}
		}
		model := map[*QP]clock.Time{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				q := rapid.SampledFrom(qps).Draw(t, "qp")
				due := clock.Time(rapid.IntRange(0, 20).Draw(t, "due"))
				if due == 20 {
					due = clock.Never
				}
				d.set(q, due)
				model[q] = due
			},
			"remove": func(t *rapid.T) {
				q := rapid.SampledFrom(qps).Draw(t, "qp")
				d.remove(q)
				delete(model, q)
			},
			"": func(t *rapid.T) {
				next := clock.Never
				for _, due := range model {
					next = min(next, due)
				}
				if d.next() != next {
					t.Fatalf("next is %v, want %v", d.next(), next)
				}
				if next != clock.Never && model[d.first()] != next {
					t.Fatalf("the first is due at %v, not %v", model[d.first()], next)
				}
			},
		})
	})
}
