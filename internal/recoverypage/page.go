package recoverypage

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed page.md
var pageText string

// Page writes the page.
func Page(all Results) (string, error) {
	t, err := template.New("page.md").Funcs(template.FuncMap{"table": all.table}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"MTUs": pathMTUs, "Message": Message >> 20, "Depth": Depth, "Messages": Messages, "Gigabits": int(Bandwidth / 1e9), "Seeds": len(seeds),
	})
	return out.String(), err
}

// table is the goodput at a path MTU: a row for each round trip and loss.
func (all Results) table(mtu int) (string, error) {
	lines := []string{
		"| round trip | loss | go-back-N | sent again | only what is lost | sent again | × go-back-N |",
		"|---|---:|---:|---:|---:|---:|---:|",
	}
	for _, rtt := range rtts {
		for _, loss := range losses {
			line, err := all.row(Case{PathMTU: mtu, RTT: rtt, Loss: loss})
			if err != nil {
				return "", err
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), nil
}

func (all Results) row(c Case) (string, error) {
	mending, err := all.of(c)
	if err != nil {
		return "", err
	}
	c.GoBackN = true
	goingBack, err := all.of(c)
	if err != nil {
		return "", err
	}
	a, b := median(goingBack), median(mending)
	return fmt.Sprintf("| %v | %g %% | %s | %s | %s | %s | %.1f |", c.RTT, 100*c.Loss,
		rate(a), again(a), rate(b), again(b), b.Goodput()/a.Goodput()), nil
}

func median(list []Result) Result { return list[len(list)/2] }

// rate is in MB/s, with about three digits.
func rate(r Result) string {
	mb := r.Goodput() / 1e6
	digits := 0
	for limit := 100.0; mb < limit && digits < 3; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f MB/s", digits, mb)
}

// again is the share of packets that were sent again.
func again(r Result) string {
	return fmt.Sprintf("%.2g %%", 100*float64(r.Retransmitted)/float64(r.Sent))
}
