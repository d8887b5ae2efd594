package congestionlab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rocinante-rdma/roce/internal/plots"
)

// Album is a directory with what runs leave behind.
type Album struct {
	Dir   string
	Files []string // names in Dir, in the order in which they were written
}

// NewAlbum makes the directory; "" means a new one for temporary files.
func NewAlbum(dir string) (*Album, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "roci-congestion-")
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the results: %w", err)
	}
	return &Album{Dir: dir}, nil
}

// add writes the plots, the tables and the summary of runs, and of the first the scenario.
func (a *Album) add(runs []*Result) error {
	figures := []figure{{"rate", RateFigure(runs)}, {"queue", QueueFigure(runs)}}
	for _, r := range runs {
		if r.Scenario.DCQCN {
			figures = append(figures, figure{"limiter", LimiterFigure(r)})
		}
	}
	for _, f := range figures {
		if err := a.draw(f); err != nil {
			return err
		}
	}
	for i, r := range runs {
		name := "samples.csv"
		if i > 0 {
			name = "samples-" + r.Summary.Control + ".csv"
		}
		if err := a.write(name, func(w io.Writer) error { return writeSamples(w, r) }); err != nil {
			return err
		}
	}
	return errors.Join(
		a.write("scenario.txt", func(w io.Writer) error { return writeSettings(w, &runs[0].Scenario) }),
		a.write("summary.json", func(w io.Writer) error { return writeSummaries(w, runs) }),
	)
}

// figure is a plot that gets drawn in every format.
type figure struct {
	name   string
	panels []plots.Panel
}

func (a *Album) draw(f figure) error {
	for _, ext := range []string{".svg", ".png"} {
		if err := plots.Save(a.file(f.name+ext), f.panels...); err != nil {
			return err
		}
	}
	return nil
}

// create makes a file, for what is written while a run is under way.
func (a *Album) create(name string) (*os.File, error) { return os.Create(a.file(name)) }

// file is the path of a file that is about to be written.
func (a *Album) file(name string) string {
	a.Files = append(a.Files, name)
	return filepath.Join(a.Dir, name)
}

func (a *Album) write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	return os.WriteFile(a.file(name), b.Bytes(), 0o666)
}

// Summaries are those of the runs.
func Summaries(runs []*Result) []Summary {
	list := make([]Summary, len(runs))
	for i, r := range runs {
		list[i] = r.Summary
	}
	return list
}

func writeSummaries(w io.Writer, runs []*Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(Summaries(runs))
}
