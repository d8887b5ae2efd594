package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/rocinante-rdma/roce/internal/perfpage"
)

// rounds is how often every benchmark is run. go test -count would run one six times
// in a row, and a busy minute would hit that one alone.
const rounds = 4

// suite is benchmarks of a package that the page shows.
type suite struct {
	folder, binary, benchmarks string
	time                       string // of each, at least
}

var (
	overLoopback = []suite{
		{".", "roce.test", "^Benchmark(Latency|Bandwidth|Rate|Engine)$", "1s"},
		{".", "roce.test", "^BenchmarkPacing$", "2s"},
		{"./internal/engine", "engine.test", "^BenchmarkDCQCN$", "1s"},
	}
	overVeth = []suite{
		{".", "roce.test", "^BenchmarkLinks$", "1s"},
		{"./xdp", "xdp.test", "^Benchmark(OneWay|PingPong)$", "1s"},
	}
)

// measure runs the benchmarks and returns their output with a header. What they print
// is shown meanwhile.
func measure() ([]byte, error) {
	dir, err := os.MkdirTemp("", "roce-perf-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("go", "test", "-c", "-o", dir+"/", ".", "./internal/engine", "./xdp").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmarks: %w\n%s", err, out)
	}
	var raw bytes.Buffer
	w := io.MultiWriter(os.Stdout, &raw)
	if err := describeMachine(w); err != nil {
		return nil, err
	}
	suites := choose(w)
	for i := range rounds {
		load, err := loadAverage()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "round: %d\nload: %s\n", i+1, load)
		for _, s := range suites {
			if err := s.run(dir, w); err != nil {
				return nil, fmt.Errorf("round %d: %w", i+1, err)
			}
		}
	}
	return raw.Bytes(), nil
}

// choose leaves out what this user may not do, and says so in the header.
func choose(w io.Writer) []suite {
	if err := tryNamespaces(); err != nil {
		fmt.Fprintf(w, "%s: %v\n", perfpage.WithoutLinksKey, err)
		fmt.Fprintln(os.Stderr, "perf: the links over veth pairs are not measured:", err)
		return overLoopback
	}
	return slices.Concat(overLoopback, overVeth)
}

func (s suite) run(dir string, w io.Writer) error {
	cmd := exec.Command(filepath.Join(dir, s.binary), "-test.run", "^$", "-test.bench", s.benchmarks, "-test.benchtime", s.time)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, w, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("benchmarks of %s: %w", s.folder, err)
	}
	return nil
}
