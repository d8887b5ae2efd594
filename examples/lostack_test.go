package examples_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLostAck proves that the example prints what its output.txt shows: simulated
// runs repeat to the byte, on any machine.
func TestLostAck(t *testing.T) {
	want, err := os.ReadFile("lostack/output.txt")
	require.NoError(t, err)
	got, err := exec.CommandContext(t.Context(), "go", "run", "./lostack").Output()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "if the change is meant: go run ./examples/lostack > examples/lostack/output.txt")
}
