//go:build linux

// Command guestctl manages the guests of the interoperability tests. Usage,
// from the repository's root:
//
//	guestctl update              pin the newest kernels that Debian serves in guest.lock
//	guestctl build [KERNEL...]   make images (all kernels when none is named)
//	guestctl run KERNEL SCRIPT   boot a guest, run a shell script in it, print its output
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rocinante-rdma/roce/interop/guest"
)

const usage = "usage: guestctl update | build [KERNEL...] | run KERNEL SCRIPT"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func logLine(s string) { fmt.Fprintln(os.Stderr, s) }

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "update":
		return update(ctx)
	case len(args) >= 1 && args[0] == "build":
		kernels := guest.Kernels()
		if len(args) > 1 {
			kernels = nil
			for _, a := range args[1:] {
				kernels = append(kernels, guest.Kernel(a))
			}
		}
		for _, k := range kernels {
			if _, err := guest.Build(ctx, guest.BuildConfig{Kernel: k, Log: logLine}); err != nil {
				return err
			}
		}
		return nil
	case len(args) == 3 && args[0] == "run":
		return runScript(ctx, guest.Kernel(args[1]), args[2])
	}
	return errors.New(usage)
}

// update writes the lock file anew.
func update(ctx context.Context) error {
	path := filepath.Join("interop", "guest", "guest.lock")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("guestctl: %w; run it from the repository's root", err)
	}
	text, err := guest.Update(ctx, "", logLine)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// runScript boots a guest and runs one script in it.
func runScript(ctx context.Context, k guest.Kernel, script string) error {
	img, err := guest.Build(ctx, guest.BuildConfig{Kernel: k, Log: logLine})
	if err != nil {
		return err
	}
	g, err := guest.Boot(ctx, guest.Config{Image: img, Log: logLine})
	if err != nil {
		return err
	}
	defer g.Close()
	r, err := g.Run(ctx, script)
	if err != nil {
		return err
	}
	fmt.Print(r.Stdout)
	fmt.Fprint(os.Stderr, r.Stderr)
	if r.Code != 0 {
		return fmt.Errorf("guestctl: the script ended with status %d", r.Code)
	}
	return nil
}
