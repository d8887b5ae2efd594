//go:build linux

package guest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// run runs a host command to its end and returns its standard output. The
// error of a failed one holds the command line and the end of what it printed.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	return runIn(ctx, "", nil, nil, name, args...)
}

// runIn is run in a folder, with standard input and additional environment variables;
// each may be left out.
func runIn(ctx context.Context, dir string, stdin []byte, env []string, name string, args ...string) ([]byte, error) {
	path, err := hostPath(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	if env != nil {
		cmd.Env = append(cmd.Environ(), env...)
	}
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(errOut.String())
		if said == "" {
			said = strings.TrimSpace(out.String())
		}
		return out.Bytes(), &commandError{cmd: name + " " + strings.Join(args, " "), said: tail(said, 12), err: err}
	}
	return out.Bytes(), nil
}

// commandError is a host command that failed.
type commandError struct {
	cmd, said string
	err       error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("guest: %s: %v: %s", e.cmd, e.err, e.said)
}

func (e *commandError) Unwrap() error { return e.err }

// tail returns the last n lines of s.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
