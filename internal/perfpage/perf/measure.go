package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// rounds is how often every benchmark is run. go test -count would run one six times
// in a row, and a busy minute would hit that one alone.
const rounds = 6

// benchmarks are those of the root package that the page shows.
const benchmarks = "^Benchmark(Latency|Bandwidth|Rate|Engine)$"

// measure runs the benchmarks of the root package and returns their output with a
// header. What they print is shown meanwhile.
func measure() ([]byte, error) {
	dir, err := os.MkdirTemp("", "roce-perf-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "roce.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmarks: %w\n%s", err, out)
	}
	var raw bytes.Buffer
	w := io.MultiWriter(os.Stdout, &raw)
	if err := describeMachine(w); err != nil {
		return nil, err
	}
	for i := range rounds {
		load, err := loadAverage()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "round: %d\nload: %s\n", i+1, load)
		cmd := exec.Command(binary, "-test.run", "^$", "-test.bench", benchmarks)
		cmd.Stdout, cmd.Stderr = w, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return raw.Bytes(), nil
}
