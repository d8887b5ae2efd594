//go:build linux

package guest

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// sources are the parts of the guest that are this project's own.
//
//go:embed init.sh agent/*.go internal/agentproto/*.go peer/*.c peer/*.h
var sources embed.FS

// addPrograms compiles the agent and the verbs peer and adds them and init.
func addPrograms(ctx context.Context, t tree, tmp string) error {
	src := filepath.Join(tmp, "src")
	if err := writeSources(src); err != nil {
		return err
	}
	if err := addAgent(ctx, t, src, filepath.Join(tmp, "agent")); err != nil {
		return err
	}
	if err := addPeer(ctx, t, src, filepath.Join(tmp, "rocepeer")); err != nil {
		return err
	}
	init, err := sources.ReadFile("init.sh")
	if err != nil {
		return err
	}
	t.file("/init", init, 0o755)
	return nil
}

// writeSources makes a module of the guest's sources, each at its place in this one.
func writeSources(src string) error {
	err := fs.WalkDir(sources, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		dst := filepath.Join(src, "interop/guest", p)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		b, err := sources.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, 0o644)
	})
	if err != nil {
		return err
	}
	mod := "module github.com/rocinante-rdma/roce\n\ngo 1.24\n"
	return os.WriteFile(filepath.Join(src, "go.mod"), []byte(mod), 0o644)
}

// addAgent compiles the agent, statically linked, and adds it.
func addAgent(ctx context.Context, t tree, src, agent string) error {
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local"}
	if _, err := runIn(ctx, src, nil, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", agent, "./interop/guest/agent"); err != nil {
		return err
	}
	return copyIn(t, "/bin/agent", agent)
}

// addPeer compiles the verbs peer and adds it.
func addPeer(ctx context.Context, t tree, src, peer string) error {
	c, err := filepath.Glob(filepath.Join(src, "interop/guest/peer/*.c"))
	if err != nil {
		return err
	}
	if _, err := run(ctx, "gcc", append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", peer}, append(c, "-libverbs")...)...); err != nil {
		return err
	}
	return copyIn(t, "/usr/bin/rocepeer", peer)
}
