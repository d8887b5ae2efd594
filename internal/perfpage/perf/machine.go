package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// describeMachine writes what Go's benchmarks do not say of the machine, the tree
// and the day, in their format.
func describeMachine(w io.Writer) error {
	kernel, err := output("uname", "-sr")
	if err != nil {
		return err
	}
	commit, err := commit()
	if err != nil {
		return err
	}
	cpus, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	virtual := "no"
	if strings.Contains(string(cpus), " hypervisor ") {
		virtual = "yes"
	}
	for _, line := range [][2]string{
		{"kernel", kernel}, {"go", strings.TrimPrefix(runtime.Version(), "go")},
		{"processors", fmt.Sprint(runtime.NumCPU())}, {"virtual", virtual},
		{"commit", commit}, {"date", time.Now().UTC().Format(time.DateOnly)},
	} {
		if _, err := fmt.Fprintf(w, "%s: %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

// commit names the measured tree.
func commit() (string, error) {
	id, err := output("git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := output("git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "go.mod")
	if changes != "" {
		id += "+changes"
	}
	return id, err
}

// loadAverage is the mean number of runnable tasks over the last minute.
func loadAverage() (string, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first, nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
