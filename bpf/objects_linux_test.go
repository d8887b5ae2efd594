package bpf

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// clang is what compiles the XDP program: one version, so that all get the same.
var clang = testenv.Feature{Name: "clang", Check: func() error {
	for _, program := range []string{"clang-14", "llvm-strip-14"} {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New("no " + program + " in PATH; install the Debian packages clang-14 and llvm-14")
		}
	}
	return nil
}}

// The committed objects are what the command of go generate makes of filter.c, byte
// for byte. If not: make bpf.
func TestObjects(t *testing.T) {
	testenv.Need(t, clang)
	dir := t.TempDir()
	source, err := os.ReadFile("filter_linux.go")
	require.NoError(t, err)
	_, command, _ := strings.Cut(string(source), "//go:generate ")
	command, _, _ = strings.Cut(command, "\n")
	words := strings.Fields(strings.Replace(command, " -cc ", " -output-dir "+dir+" -cc ", 1))
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)

	made, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, made, 4)
	for _, path := range made {
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Base(path))
		require.NoError(t, err)
		require.True(t, string(want) == string(committed), "%s differs from what filter.c gives: run make bpf", filepath.Base(path))
	}
}
