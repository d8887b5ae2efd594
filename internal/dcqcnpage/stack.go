package dcqcnpage

import (
	"context"
	"path/filepath"
	"strings"

	lab "github.com/rocinante-rdma/roce/internal/congestionlab"
	"github.com/rocinante-rdma/roce/internal/plots"
)

// The stack itself: what roci congestion plays. A variant is the command to type.
const wholeStack = "the stack"

// stackRun is a scenario of the command, and what must come of it.
type stackRun struct {
	settings []lab.Setting
	must     func(*lab.Summary) []Check
}

var stackRuns = []stackRun{
	{nil, shareAll},
	{with("dcqcn", "off"), overflow},
	{with("params", "paper"), shareAll},
	{with("params", "connectx"), shareAll},
	{with("operation", "read"), shareAll},
	{with("senders", "16", "starts", "every 0s", "ack-timeout", "10"), shareAll},
	{with("delay", "500us"), idle},
	{with("kmin", "40KB", "kmax", "40KB", "timer", "1500us", "byte-counter", "150KB"), unfair},
}

// with makes settings of keys and values.
func with(words ...string) (list []lab.Setting) {
	for i := 0; i < len(words); i += 2 {
		list = append(list, lab.Setting{Key: words[i], Value: words[i+1], Where: "--" + words[i]})
	}
	return list
}

// command is what to type for settings.
func command(settings []lab.Setting) string {
	text := "roci congestion"
	for _, s := range settings {
		value := s.Value
		if strings.Contains(value, " ") {
			value = `"` + value + `"`
		}
		text += " --" + s.Key + " " + value
	}
	return "`" + text + "`"
}

func stack() (list []Case) {
	for _, run := range stackRuns {
		s, err := lab.Build(run.settings...)
		list = append(list, Case{ID{Scenario: wholeStack, Variant: command(run.settings), Flows: s.Senders, Seed: s.Seed}, true,
			func() ([]Check, int64, error) {
				if err != nil {
					return nil, 0, err
				}
				return run.measure(s)
			}})
	}
	return list
}

func (run stackRun) measure(s lab.Scenario) ([]Check, int64, error) {
	r, err := lab.Run(context.Background(), s, lab.Options{})
	if err != nil {
		return nil, 0, err
	}
	u := &r.Summary
	return append([]Check{
		shown("Jain", u.Jain, 0),
		shown("utilisation", u.Utilisation, 0),
		shown("queue, KB", u.QueueMean/1e3, 0),
		shown("99 % of the queue, KB", float64(u.QueueP99)/1e3, 0),
		shown("dropped", float64(u.Drops), 0),
		shown("dropped, settled", float64(u.DropsSettled), 0),
		shown("CNPs", float64(u.CNPs), 0),
	}, run.must(u)...), 0, nil
}

// shareAll is what DCQCN is there for.
func shareAll(s *lab.Summary) []Check {
	return []Check{
		above("everybody gets as much", s.Jain, 0.99),
		above("and at every moment", s.JainWindows, 0.97),
		above("all of the link", s.Utilisation, 0.98),
		below("nothing is lost, once settled", float64(s.DropsSettled), 1),
	}
}

// overflow is what a window of packets comes to.
func overflow(s *lab.Summary) []Check {
	return []Check{above("the buffer fills", float64(s.QueueMost)/1e3, 245), above("and overflows", float64(s.DropsSettled), 1)}
}

// idle is what slow feedback costs.
func idle(s *lab.Summary) []Check {
	return []Check{above("still fair", s.Jain, 0.99), below("the link idles", s.Utilisation, 0.9)}
}

// unfair is what the timers of QCN do.
func unfair(s *lab.Summary) []Check {
	return []Check{below("not fair", s.Jain, 0.9)}
}

// stackCurves are the pictures of the command's first scenario, by their names there.
func stackCurves(dir string) error {
	controlled, err := lab.Run(context.Background(), lab.Default(), lab.Options{})
	if err != nil {
		return err
	}
	plain := lab.Default()
	plain.DCQCN = false
	window, err := lab.Run(context.Background(), plain, lab.Options{})
	if err != nil {
		return err
	}
	runs := []*lab.Result{controlled, window}
	for name, panels := range map[string][]plots.Panel{
		"stack-rate.svg": lab.RateFigure(runs), "stack-queue.svg": lab.QueueFigure(runs), "stack-limiter.svg": lab.LimiterFigure(controlled),
	} {
		if err := plots.Save(filepath.Join(dir, name), panels...); err != nil {
			return err
		}
	}
	return nil
}
